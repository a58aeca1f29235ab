<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de">
<context>
    <name>Calibration</name>
    <message>
        <source>part</source>
        <translation>Teil</translation>
    </message>
    <message>
        <source>What the figure speaks of.</source>
        <translation>Wovon die Zahl handelt.</translation>
    </message>
    <message>
        <source>figure</source>
        <translation>Größe</translation>
    </message>
    <message>
        <source>What is known.</source>
        <translation>Was bekannt ist.</translation>
    </message>
    <message>
        <source>value</source>
        <translation>Wert</translation>
    </message>
    <message>
        <source>As the estimate uses it.</source>
        <translation>Wie die Schätzung es verwendet.</translation>
    </message>
    <message>
        <source>origin</source>
        <translation>Herkunft</translation>
    </message>
    <message>
        <source>Measured on this GPU, borrowed from a sibling, or a prior.</source>
        <translation>Auf dieser GPU gemessen, von einer verwandten übernommen oder eine Vorannahme.</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::CalibrationModel</name>
    <message>
        <source>measured</source>
        <translation>gemessen</translation>
    </message>
    <message>
        <source>borrowed</source>
        <translation>geliehen</translation>
    </message>
    <message>
        <source>prior</source>
        <translation>Annahme</translation>
    </message>
    <message>
        <source>matrix products</source>
        <translation>Matrixprodukte</translation>
    </message>
    <message>
        <source>share of the peak, %1</source>
        <translation>Anteil der Spitze, %1</translation>
    </message>
    <message>
        <source>Of the datasheet&apos;s dense peak, for large matrices; %1 measured correction(s).</source>
        <translation>Der dichten Spitzenleistung des Datenblatts, für große Matrizen; %1 gemessene Korrektur(en).</translation>
    </message>
    <message>
        <source>sustained in a training step</source>
        <translation>gehalten in einem Trainingsschritt</translation>
    </message>
    <message>
        <source>Power and clocks of long products against short ones.</source>
        <translation>Leistungsaufnahme und Takt langer Produkte gegenüber kurzen.</translation>
    </message>
    <message>
        <source>head size %1</source>
        <translation>Kopfbreite %1</translation>
    </message>
    <message>
        <source>attention</source>
        <translation>Attention</translation>
    </message>
    <message>
        <source>%1, forward, at best</source>
        <translation>%1, vorwärts, bestenfalls</translation>
    </message>
    <message>
        <source>Share of the peak that fused attention reaches.</source>
        <translation>Anteil der Spitzenleistung, den fusionierte Attention erreicht.</translation>
    </message>
    <message>
        <source>%1, backward, at best</source>
        <translation>%1, rückwärts, bestenfalls</translation>
    </message>
    <message>
        <source>memory-bound kernels</source>
        <translation>speicherbegrenzte Kernel</translation>
    </message>
    <message>
        <source>share of the bandwidth</source>
        <translation>Anteil der Bandbreite</translation>
    </message>
    <message>
        <source>Of the datasheet&apos;s memory bandwidth.</source>
        <translation>Der Speicherbandbreite des Datenblatts.</translation>
    </message>
    <message>
        <source>ramp</source>
        <translation>Anlauf</translation>
    </message>
    <message>
        <source>Until every multiprocessor has its first loads back.</source>
        <translation>Bis jeder Multiprozessor seine ersten Ladungen zurück hat.</translation>
    </message>
    <message>
        <source>kernel launches</source>
        <translation>Kernelstarts</translation>
    </message>
    <message>
        <source>gap between kernels</source>
        <translation>Lücke zwischen Kerneln</translation>
    </message>
    <message>
        <source>Added to every matrix product and attention.</source>
        <translation>Zu jedem Matrixprodukt und jeder Attention addiert.</translation>
    </message>
    <message>
        <source>inside a node</source>
        <translation>im Knoten</translation>
    </message>
    <message>
        <source>%1 on %2 GPUs, sizes measured</source>
        <translation>%1 auf %2 GPUs, gemessene Größen</translation>
    </message>
    <message>
        <source>Points of the curve of time over size.</source>
        <translation>Punkte der Kurve von Zeit über Größe.</translation>
    </message>
    <message>
        <source>between nodes</source>
        <translation>zwischen Knoten</translation>
    </message>
    <message>
        <source>attained share of the bandwidth</source>
        <translation>erreichter Anteil der Bandbreite</translation>
    </message>
    <message>
        <source>For large messages, of the card&apos;s rate.</source>
        <translation>Bei großen Nachrichten, von der Rate der Karte.</translation>
    </message>
    <message>
        <source>latency of a collective</source>
        <translation>Latenz eines Kollektivs</translation>
    </message>
    <message>
        <source>Once per collective.</source>
        <translation>Einmal je Kollektiv.</translation>
    </message>
    <message>
        <source>latency of a step</source>
        <translation>Latenz eines Schritts</translation>
    </message>
    <message>
        <source>Per step between nodes.</source>
        <translation>Je Schritt zwischen Knoten.</translation>
    </message>
    <message>
        <source>residuals</source>
        <translation>Restfehler</translation>
    </message>
    <message>
        <source>step time, one standard deviation</source>
        <translation>Schrittzeit, eine Standardabweichung</translation>
    </message>
    <message>
        <source>Spread of measured over predicted: what the interval of the estimate comes from.</source>
        <translation>Streuung von gemessen durch vorhergesagt: woher das Intervall der Schätzung kommt.</translation>
    </message>
    <message>
        <source>memory, one standard deviation</source>
        <translation>Speicher, eine Standardabweichung</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::ComparePage</name>
    <message>
        <source>Comparison</source>
        <translation>Vergleich</translation>
    </message>
    <message>
        <source>Baseline</source>
        <translation>Grundlinie</translation>
    </message>
    <message>
        <source>Pin %1</source>
        <translation>Zustand %1</translation>
    </message>
    <message>
        <source>Now</source>
        <translation>Jetzt</translation>
    </message>
    <message>
        <source>Pin the present state as baseline (Ctrl+B): from then on every number of the window shows its difference. Pin further states (Ctrl+K) to see them side by side.</source>
        <translation>Merken Sie den jetzigen Zustand als Grundlinie (Strg+B): Danach zeigt jede Zahl des Fensters ihre Differenz. Weitere Zustände (Strg+K) stehen dann nebeneinander.</translation>
    </message>
    <message>
        <source>%1× the tokens per GPU, step %2 → %3, peak memory %4 → %5</source>
        <translation>%1× die Tokens je GPU, Schritt %2 → %3, Spitzenspeicher %4 → %5</translation>
    </message>
    <message>
        <source>Pin as baseline</source>
        <translation>Als Grundlinie merken</translation>
    </message>
    <message>
        <source>Pin this state</source>
        <translation>Diesen Zustand merken</translation>
    </message>
    <message>
        <source>Remove last pin</source>
        <translation>Letzten Zustand entfernen</translation>
    </message>
    <message>
        <source>Not the same question: %1.</source>
        <translation>Nicht dieselbe Frage: %1.</translation>
    </message>
    <message>
        <source>model or GPUs are missing</source>
        <translation>Modell oder GPUs fehlen</translation>
    </message>
    <message>
        <source>%1: %2 has no numbers here: %3</source>
        <translation>%1: %2 hat hier keine Zahlen: %3</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::ComparisonModel</name>
    <message>
        <source>group</source>
        <translation>Gruppe</translation>
    </message>
    <message>
        <source>figure</source>
        <translation>Größe</translation>
    </message>
    <message>
        <source>difference</source>
        <translation>Differenz</translation>
    </message>
    <message>
        <source>change</source>
        <translation>Änderung</translation>
    </message>
    <message>
        <source>What the figure speaks of.</source>
        <translation>Wovon die Zahl handelt.</translation>
    </message>
    <message>
        <source>Figures of the estimate.</source>
        <translation>Zahlen der Schätzung.</translation>
    </message>
    <message>
        <source>The baseline.</source>
        <translation>Die Grundlinie.</translation>
    </message>
    <message>
        <source>%1 against %2.</source>
        <translation>%1 gegen %2.</translation>
    </message>
    <message>
        <source>points</source>
        <translation>Punkte</translation>
    </message>
    <message>
        <source>differs</source>
        <translation>anders</translation>
    </message>
    <message>
        <source>%1 better</source>
        <translation>%1 besser</translation>
    </message>
    <message>
        <source>%1 worse</source>
        <translation>%1 schlechter</translation>
    </message>
    <message>
        <source>better</source>
        <translation>besser</translation>
    </message>
    <message>
        <source>worse</source>
        <translation>schlechter</translation>
    </message>
</context>
<context>
    <name>Evidence</name>
    <message>
        <source>model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>That was trained.</source>
        <translation>Das trainiert wurde.</translation>
    </message>
    <message>
        <source>GPUs</source>
        <translation>GPUs</translation>
    </message>
    <message>
        <source>That ran it.</source>
        <translation>Auf denen es lief.</translation>
    </message>
    <message>
        <source>GPU</source>
        <translation>GPU</translation>
    </message>
    <message>
        <source>Their type.</source>
        <translation>Ihr Typ.</translation>
    </message>
    <message>
        <source>framework</source>
        <translation>Framework</translation>
    </message>
    <message>
        <source>Its profile.</source>
        <translation>Sein Profil.</translation>
    </message>
    <message>
        <source>layout</source>
        <translation>Aufteilung</translation>
    </message>
    <message>
        <source>As it was published.</source>
        <translation>Wie veröffentlicht.</translation>
    </message>
    <message>
        <source>tokens/s/GPU</source>
        <translation>Tokens/s/GPU</translation>
    </message>
    <message>
        <source>Measured.</source>
        <translation>Gemessen.</translation>
    </message>
    <message>
        <source>measured</source>
        <translation>gemessen</translation>
    </message>
    <message>
        <source>One step.</source>
        <translation>Ein Schritt.</translation>
    </message>
    <message>
        <source>predicted</source>
        <translation>vorhergesagt</translation>
    </message>
    <message>
        <source>The same step, by the presets&apos; curves.</source>
        <translation>Derselbe Schritt nach den Kurven der Vorlagen.</translation>
    </message>
    <message>
        <source>error</source>
        <translation>Fehler</translation>
    </message>
    <message>
        <source>Predicted over measured, minus 1.</source>
        <translation>Vorhergesagt durch gemessen, minus 1.</translation>
    </message>
    <message>
        <source>distance</source>
        <translation>Abstand</translation>
    </message>
    <message>
        <source>From the question: 0 is the same run.</source>
        <translation>Von der Frage: 0 ist derselbe Lauf.</translation>
    </message>
    <message>
        <source>source</source>
        <translation>Quelle</translation>
    </message>
    <message>
        <source>Who published it.</source>
        <translation>Wer ihn veröffentlicht hat.</translation>
    </message>
</context>
<context>
    <name>Field</name>
    <message>
        <source>nodes: %1</source>
        <translation>Knoten: %1</translation>
    </message>
    <message>
        <source>GPU</source>
        <translation>GPU</translation>
    </message>
    <message>
        <source>Type of the GPUs: memory, peak rates and links of its datasheet, efficiency as measured on it where it was.</source>
        <translation>GPU-Typ: Speicher, Spitzenleistung und Verbindungen laut Datenblatt, Wirkungsgrad wie darauf gemessen, wo das geschehen ist.</translation>
    </message>
    <message>
        <source>GPUs</source>
        <translation>GPUs</translation>
    </message>
    <message>
        <source>GPUs of the job. Data parallelism takes what the other degrees leave.</source>
        <translation>GPUs des Laufs. Die Datenparallelität nimmt, was die anderen Grade übrig lassen.</translation>
    </message>
    <message>
        <source>Machine</source>
        <translation>Rechner</translation>
    </message>
    <message>
        <source>A published machine: its GPUs, nodes and network at once.</source>
        <translation>Ein veröffentlichter Rechner: GPUs, Knoten und Netz auf einmal.</translation>
    </message>
    <message>
        <source>GPUs per node</source>
        <translation>GPUs je Knoten</translation>
    </message>
    <message>
        <source>GPUs that share a host and its network cards; auto: as in the reference server of the GPU type.</source>
        <translation>GPUs, die sich einen Rechner und seine Netzwerkkarten teilen; auto: wie im üblichen Server des GPU-Typs.</translation>
    </message>
    <message>
        <source>Network</source>
        <translation>Netz</translation>
    </message>
    <message>
        <source>Kind of network between nodes; auto: that of the reference server.</source>
        <translation>Art des Netzes zwischen Knoten; auto: die des üblichen Servers.</translation>
    </message>
    <message>
        <source>Network rate</source>
        <translation>Netzrate</translation>
    </message>
    <message>
        <source>Gbit/s per GPU</source>
        <translation>Gbit/s je GPU</translation>
    </message>
    <message>
        <source>Rate of the network card that a GPU has to itself, per direction.</source>
        <translation>Rate der Netzwerkkarte, die eine GPU für sich hat, je Richtung.</translation>
    </message>
    <message>
        <source>Price</source>
        <translation>Preis</translation>
    </message>
    <message>
        <source>US$ per GPU-hour</source>
        <translation>US$ je GPU-Stunde</translation>
    </message>
    <message>
        <source>What an hour of one GPU costs; auto: the preset&apos;s.</source>
        <translation>Was eine Stunde einer GPU kostet; auto: laut Voreinstellung.</translation>
    </message>
    <message>
        <source>Calibration</source>
        <translation>Kalibrierung</translation>
    </message>
    <message>
        <source>Measured curves of kernels and links: a preset or the path of a file that &apos;hexaplan calibrate&apos; wrote; auto: those of the GPU type.</source>
        <translation>Gemessene Kurven von Kernels und Verbindungen: eine Voreinstellung oder der Pfad einer Datei von &apos;hexaplan calibrate&apos;; auto: die des GPU-Typs.</translation>
    </message>
    <message>
        <source>Tensor parallel</source>
        <translation>Tensorparallel</translation>
    </message>
    <message>
        <source>TP: ranks that share every layer&apos;s matrices. Talks in every layer: keep it inside a node.</source>
        <translation>TP: Ränge, die sich die Matrizen jeder Schicht teilen. Tauscht in jeder Schicht Daten aus: innerhalb eines Knotens halten.</translation>
    </message>
    <message>
        <source>Context parallel</source>
        <translation>Kontextparallel</translation>
    </message>
    <message>
        <source>CP: ranks that share every sequence, for long contexts.</source>
        <translation>CP: Ränge, die sich jede Sequenz teilen, für lange Kontexte.</translation>
    </message>
    <message>
        <source>Pipeline parallel</source>
        <translation>Pipelineparallel</translation>
    </message>
    <message>
        <source>PP: stages that share the layers. Costs a bubble, talks little.</source>
        <translation>PP: Stufen, die sich die Schichten teilen. Kostet Leerlauf, tauscht wenig aus.</translation>
    </message>
    <message>
        <source>Chunks per stage</source>
        <translation>Teile je Stufe</translation>
    </message>
    <message>
        <source>VPP: model chunks per stage (interleaving). Smaller bubble, more messages and activations.</source>
        <translation>VPP: Modellteile je Stufe (verschränkt). Weniger Leerlauf, mehr Nachrichten und Aktivierungen.</translation>
    </message>
    <message>
        <source>Expert parallel</source>
        <translation>Expertenparallel</translation>
    </message>
    <message>
        <source>EP: ranks that share the experts.</source>
        <translation>EP: Ränge, die sich die Experten teilen.</translation>
    </message>
    <message>
        <source>Expert tensor</source>
        <translation>Tensor der Experten</translation>
    </message>
    <message>
        <source>Tensor-parallel size of the experts; auto: that of the rest.</source>
        <translation>Tensorparallele Größe der Experten; auto: wie beim Rest.</translation>
    </message>
    <message>
        <source>Sequence parallel</source>
        <translation>Sequenzparallel</translation>
    </message>
    <message>
        <source>SP: tensor-parallel ranks also share norms and dropouts by tokens. Less memory at the same traffic.</source>
        <translation>SP: Tensorparallele Ränge teilen sich auch Normen und Dropouts nach Tokens. Weniger Speicher bei gleichem Datenverkehr.</translation>
    </message>
    <message>
        <source>Quantised weights</source>
        <translation>Quantisierte Gewichte</translation>
    </message>
    <message>
        <source>ZeRO++ qwZ: parameters are gathered in 8 bits.</source>
        <translation>ZeRO++ qwZ: Parameter werden in 8 Bit gesammelt.</translation>
    </message>
    <message>
        <source>Quantised gradients</source>
        <translation>Quantisierte Gradienten</translation>
    </message>
    <message>
        <source>ZeRO++ qgZ: gradients are reduced in 4 bits.</source>
        <translation>ZeRO++ qgZ: Gradienten werden in 4 Bit reduziert.</translation>
    </message>
    <message>
        <source>Partition activations</source>
        <translation>Aktivierungen aufteilen</translation>
    </message>
    <message>
        <source>ZeRO-R: saved layer inputs are cut over tensor-parallel ranks.</source>
        <translation>ZeRO-R: gespeicherte Schichteingaben werden über tensorparallele Ränge geteilt.</translation>
    </message>
    <message>
        <source>× %1 = %2 GPUs</source>
        <translation>× %1 = %2 GPUs</translation>
    </message>
    <message>
        <source>Data parallel</source>
        <translation>Datenparallel</translation>
    </message>
    <message>
        <source>DP: copies of the model that share the batch. Follows from the GPUs and the other degrees; changing it changes the number of GPUs.</source>
        <translation>DP: Kopien des Modells, die sich den Stapel teilen. Folgt aus den GPUs und den anderen Graden; eine Änderung ändert die Zahl der GPUs.</translation>
    </message>
    <message>
        <source>ZeRO stage</source>
        <translation>ZeRO-Stufe</translation>
    </message>
    <message>
        <source>What data-parallel ranks share instead of copying: 1 optimizer states, 2 gradients too, 3 parameters too (FSDP).</source>
        <translation>Was datenparallele Ränge teilen statt kopieren: 1 Optimiererzustände, 2 auch Gradienten, 3 auch Parameter (FSDP).</translation>
    </message>
    <message>
        <source>everything is copied</source>
        <translation>alles wird kopiert</translation>
    </message>
    <message>
        <source>optimizer states shared</source>
        <translation>Optimiererzustände geteilt</translation>
    </message>
    <message>
        <source>and gradients</source>
        <translation>und Gradienten</translation>
    </message>
    <message>
        <source>and parameters (FSDP)</source>
        <translation>und Parameter (FSDP)</translation>
    </message>
    <message>
        <source>ranks</source>
        <translation>Ränge</translation>
    </message>
    <message>
        <source>Context exchange</source>
        <translation>Kontextaustausch</translation>
    </message>
    <message>
        <source>How context-parallel ranks see each other&apos;s keys and values: in a ring, gathered, or by exchanging heads (Ulysses).</source>
        <translation>Wie kontextparallele Ränge die Keys und Values der anderen sehen: im Ring, gesammelt oder durch Tausch von Köpfen (Ulysses).</translation>
    </message>
    <message>
        <source>Output layer</source>
        <translation>Ausgabeschicht</translation>
    </message>
    <message>
        <source>On the last stage, or spread over all stages (arXiv:2411.05288).</source>
        <translation>Auf der letzten Stufe oder über alle Stufen verteilt (arXiv:2411.05288).</translation>
    </message>
    <message>
        <source>Stage split</source>
        <translation>Stufenschnitt</translation>
    </message>
    <message>
        <source>How layers are cut into stages: a rule, or the layers of every chunk: 4/5/5/4.</source>
        <translation>Wie Schichten auf Stufen verteilt werden: eine Regel oder die Schichten jedes Abschnitts: 4/5/5/4.</translation>
    </message>
    <message>
        <source>Rank order</source>
        <translation>Rangfolge</translation>
    </message>
    <message>
        <source>Which axis lies on neighbouring GPUs, innermost first.</source>
        <translation>Welche Achse auf benachbarten GPUs liegt, die innerste zuerst.</translation>
    </message>
    <message>
        <source>Schedule</source>
        <translation>Ablauf</translation>
    </message>
    <message>
        <source>Order in which a stage runs its micro-batches.</source>
        <translation>Reihenfolge, in der eine Stufe ihre Mikrostapel rechnet.</translation>
    </message>
    <message>
        <source>Shard group</source>
        <translation>Teilungsgruppe</translation>
    </message>
    <message>
        <source>Ranks that share states between them, copies beyond (HSDP); auto: all.</source>
        <translation>Ränge, die sich Zustände teilen, darüber hinaus Kopien (HSDP); auto: alle.</translation>
    </message>
    <message>
        <source>Secondary group</source>
        <translation>Zweitgruppe</translation>
    </message>
    <message>
        <source>ZeRO++ hpZ: ranks of a second copy of the parameters; auto: none.</source>
        <translation>ZeRO++ hpZ: Ränge einer zweiten Kopie der Parameter; auto: keine.</translation>
    </message>
    <message>
        <source>Layers</source>
        <translation>Schichten</translation>
    </message>
    <message>
        <source>Decoder layers.</source>
        <translation>Decoder-Schichten.</translation>
    </message>
    <message>
        <source>Hidden size</source>
        <translation>Breite</translation>
    </message>
    <message>
        <source>Width of the residual stream.</source>
        <translation>Breite des Residualstroms.</translation>
    </message>
    <message>
        <source>MLP width</source>
        <translation>MLP-Breite</translation>
    </message>
    <message>
        <source>Width inside the MLP of a dense layer (intermediate size).</source>
        <translation>Breite im MLP einer dichten Schicht (intermediate size).</translation>
    </message>
    <message>
        <source>Heads</source>
        <translation>Köpfe</translation>
    </message>
    <message>
        <source>Attention heads. Tensor parallelism must divide them.</source>
        <translation>Attention-Köpfe. Die Tensorparallelität muss sie teilen.</translation>
    </message>
    <message>
        <source>Key-value heads</source>
        <translation>Key-Value-Köpfe</translation>
    </message>
    <message>
        <source>Heads of keys and values: fewer than heads in grouped-query attention.</source>
        <translation>Köpfe der Keys und Values: bei Grouped-Query-Attention weniger als Köpfe.</translation>
    </message>
    <message>
        <source>Head size</source>
        <translation>Kopfbreite</translation>
    </message>
    <message>
        <source>Width of one attention head.</source>
        <translation>Breite eines Attention-Kopfes.</translation>
    </message>
    <message>
        <source>Vocabulary</source>
        <translation>Vokabular</translation>
    </message>
    <message>
        <source>tokens</source>
        <translation>Tokens</translation>
    </message>
    <message>
        <source>Tokens in the vocabulary, before the framework pads it.</source>
        <translation>Tokens im Vokabular, bevor das Framework es auffüllt.</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>Kontext</translation>
    </message>
    <message>
        <source>Longest sequence the model was made for; rows of a learned position table.</source>
        <translation>Längste Sequenz, für die das Modell gemacht ist; Zeilen einer gelernten Positionstabelle.</translation>
    </message>
    <message>
        <source>Sliding window</source>
        <translation>Gleitendes Fenster</translation>
    </message>
    <message>
        <source>Tokens that a layer with a sliding window attends to.</source>
        <translation>Tokens, die eine Schicht mit gleitendem Fenster sieht.</translation>
    </message>
    <message>
        <source>Experts</source>
        <translation>Experten</translation>
    </message>
    <message>
        <source>Routed experts of a layer.</source>
        <translation>Zugeteilte Experten einer Schicht.</translation>
    </message>
    <message>
        <source>Experts per token</source>
        <translation>Experten je Token</translation>
    </message>
    <message>
        <source>Routed experts that every token visits.</source>
        <translation>Zugeteilte Experten, die jedes Token besucht.</translation>
    </message>
    <message>
        <source>Expert width</source>
        <translation>Expertenbreite</translation>
    </message>
    <message>
        <source>Width inside one expert.</source>
        <translation>Breite in einem Experten.</translation>
    </message>
    <message>
        <source>Shared expert width</source>
        <translation>Breite des geteilten Experten</translation>
    </message>
    <message>
        <source>Width of the expert that every token visits.</source>
        <translation>Breite des Experten, den jedes Token besucht.</translation>
    </message>
    <message>
        <source>Shared experts</source>
        <translation>Geteilte Experten</translation>
    </message>
    <message>
        <source>Experts that every token visits.</source>
        <translation>Experten, die jedes Token besucht.</translation>
    </message>
    <message>
        <source>Dense layers first</source>
        <translation>Dichte Schichten zuerst</translation>
    </message>
    <message>
        <source>Leading layers without experts.</source>
        <translation>Erste Schichten ohne Experten.</translation>
    </message>
    <message>
        <source>Query rank</source>
        <translation>Query-Rang</translation>
    </message>
    <message>
        <source>Rank of the compressed queries (latent attention).</source>
        <translation>Rang der komprimierten Queries (latente Attention).</translation>
    </message>
    <message>
        <source>Key-value rank</source>
        <translation>Key-Value-Rang</translation>
    </message>
    <message>
        <source>Rank of the compressed keys and values (latent attention).</source>
        <translation>Rang der komprimierten Keys und Values (latente Attention).</translation>
    </message>
    <message>
        <source>Head size, no position</source>
        <translation>Kopfgröße ohne Position</translation>
    </message>
    <message>
        <source>Width of a query or key head without positions (latent attention).</source>
        <translation>Breite eines Query- oder Key-Kopfes ohne Positionen (latente Attention).</translation>
    </message>
    <message>
        <source>Head size, rotary</source>
        <translation>Kopfgröße, rotierend</translation>
    </message>
    <message>
        <source>Width of a query or key head with rotary positions (latent attention).</source>
        <translation>Breite eines Query- oder Key-Kopfes mit rotierenden Positionen (latente Attention).</translation>
    </message>
    <message>
        <source>Value head size</source>
        <translation>Value-Kopfbreite</translation>
    </message>
    <message>
        <source>Width of a value head (latent attention).</source>
        <translation>Breite eines Value-Kopfes (latente Attention).</translation>
    </message>
    <message>
        <source>MTP modules</source>
        <translation>MTP-Module</translation>
    </message>
    <message>
        <source>Multi-token prediction modules, trained beside the main model.</source>
        <translation>Module zur Vorhersage mehrerer Tokens, neben dem Hauptmodell trainiert.</translation>
    </message>
    <message>
        <source>%1 parameters</source>
        <translation>%1 Parameter</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Sequence</source>
        <translation>Sequenz</translation>
    </message>
    <message>
        <source>Tokens of one sequence: 4096, 8k (= 8192), 1M (= 1048576). auto: 4096, or the model&apos;s context where that is shorter.</source>
        <translation>Tokens einer Sequenz: 4096, 8k (= 8192), 1M (= 1048576). auto: 4096 oder der Kontext des Modells, wo er kürzer ist.</translation>
    </message>
    <message>
        <source>Micro-batch</source>
        <translation>Mikrostapel</translation>
    </message>
    <message>
        <source>sequences</source>
        <translation>Sequenzen</translation>
    </message>
    <message>
        <source>Sequences that a data-parallel rank passes through the model at once.</source>
        <translation>Sequenzen, die ein datenparalleler Rang zugleich durch das Modell schickt.</translation>
    </message>
    <message>
        <source>Global batch</source>
        <translation>Globaler Stapel</translation>
    </message>
    <message>
        <source>Sequences of one optimizer step over all ranks; micro-batch × data parallelism must divide it. auto: 4 micro-batches per pipeline stage.</source>
        <translation>Sequenzen eines Optimiererschritts über alle Ränge; Mikrobatch × Datenparallelität muss sie teilen. auto: 4 Mikrobatches je Pipelinestufe.</translation>
    </message>
    <message>
        <source>Precision</source>
        <translation>Genauigkeit</translation>
    </message>
    <message>
        <source>Type in which matrix products run.</source>
        <translation>Typ, in dem Matrixprodukte rechnen.</translation>
    </message>
    <message>
        <source>Recompute</source>
        <translation>Neuberechnung</translation>
    </message>
    <message>
        <source>Activations that are computed again in the backward pass instead of being kept: none, selective (attention scores), full, layers=4 (the first 4 of every model chunk), modules=core_attn,layernorm.</source>
        <translation>Aktivierungen, die im Rückwärtslauf neu berechnet statt behalten werden: none, selective (Attention-Scores), full, layers=4 (die ersten 4 jedes Modellabschnitts), modules=core_attn,layernorm.</translation>
    </message>
    <message>
        <source>Optimizer</source>
        <translation>Optimierer</translation>
    </message>
    <message>
        <source>Optimizer, and with it the states kept per parameter.</source>
        <translation>Optimierer und damit die Zustände je Parameter.</translation>
    </message>
    <message>
        <source>Attention</source>
        <translation>Attention</translation>
    </message>
    <message>
        <source>Cross-entropy</source>
        <translation>Kreuzentropie</translation>
    </message>
    <message>
        <source>How the loss handles the logits; default: what the framework does.</source>
        <translation>Wie der Verlust mit den Logits umgeht; default: was das Framework tut.</translation>
    </message>
    <message>
        <source>Token budget</source>
        <translation>Tokenbudget</translation>
    </message>
    <message>
        <source>Tokens of the whole training, for days and cost: 300B, 15T. auto: not asked.</source>
        <translation>Tokens des ganzen Trainings, für Tage und Kosten: 300B, 15T. auto: nicht gefragt.</translation>
    </message>
    <message>
        <source>Parameters in</source>
        <translation>Parameter in</translation>
    </message>
    <message>
        <source>Type in which parameters are kept for compute; auto: the framework&apos;s.</source>
        <translation>Typ, in dem Parameter zum Rechnen gehalten werden; auto: der des Frameworks.</translation>
    </message>
    <message>
        <source>Gradients in</source>
        <translation>Gradienten in</translation>
    </message>
    <message>
        <source>Type in which gradients are accumulated and reduced; auto: the framework&apos;s.</source>
        <translation>Typ, in dem Gradienten summiert und reduziert werden; auto: der des Frameworks.</translation>
    </message>
    <message>
        <source>Optimizer in backward</source>
        <translation>Optimierer im Rückwärtslauf</translation>
    </message>
    <message>
        <source>Each parameter is updated as soon as its gradient is there, which is freed at once.</source>
        <translation>Jeder Parameter wird erneuert, sobald sein Gradient da ist, der sofort freigegeben wird.</translation>
    </message>
    <message>
        <source>Fused norm</source>
        <translation>Norm verschmolzen</translation>
    </message>
    <message>
        <source>The norm is one kernel instead of a row of tensor operations.</source>
        <translation>Die Norm ist ein Kernel statt einer Reihe von Tensoroperationen.</translation>
    </message>
    <message>
        <source>Dropout</source>
        <translation>Dropout</translation>
    </message>
    <message>
        <source>Probability of dropping an activation; above 0 the masks are saved.</source>
        <translation>Wahrscheinlichkeit, eine Aktivierung auszulassen; über 0 werden die Masken gespeichert.</translation>
    </message>
    <message>
        <source>Training</source>
        <translation>Training</translation>
    </message>
    <message>
        <source>Pre-training, full fine-tuning, or adapters beside frozen weights.</source>
        <translation>Vortraining, volles Feintuning oder Adapter neben eingefrorenen Gewichten.</translation>
    </message>
    <message>
        <source>Adapter rank</source>
        <translation>Adapterrang</translation>
    </message>
    <message>
        <source>Overlap of tensor parallelism</source>
        <translation>Überlappung der Tensorparallelität</translation>
    </message>
    <message>
        <source>Tensor-parallel messages run under the products beside them (userbuffers, async TP); auto: what the framework does.</source>
        <translation>Tensorparallele Nachrichten laufen neben den Produkten (Userbuffers, Async TP); auto: wie das Framework es tut.</translation>
    </message>
    <message>
        <source>Overlap of its backward</source>
        <translation>Überlappung ihres Rückwärtslaufs</translation>
    </message>
    <message>
        <source>With sequence parallelism, the messages of a linear layer&apos;s backward run under its products; auto: what the framework does.</source>
        <translation>Mit Sequenzparallelität laufen die Nachrichten im Rückwärtslauf einer linearen Schicht neben deren Produkten; auto: wie das Framework es tut.</translation>
    </message>
    <message>
        <source>Overlap of stages</source>
        <translation>Überlappung der Stufen</translation>
    </message>
    <message>
        <source>Messages between stages run under computation; auto: under interleaved schedules, where the framework can.</source>
        <translation>Nachrichten zwischen Stufen laufen neben der Rechnung; auto: bei verschränkten Zeitplänen, wo das Framework es kann.</translation>
    </message>
    <message>
        <source>Overlap of gradients</source>
        <translation>Überlappung der Gradienten</translation>
    </message>
    <message>
        <source>Gradients are reduced and parameters gathered under computation; auto: what the framework does.</source>
        <translation>Gradienten werden neben der Rechnung reduziert und Parameter gesammelt; auto: wie das Framework es tut.</translation>
    </message>
    <message>
        <source>Overlap of experts</source>
        <translation>Überlappung der Experten</translation>
    </message>
    <message>
        <source>Tokens travel to the experts under another micro-batch; auto: what the framework does.</source>
        <translation>Token reisen neben einem anderen Mikrobatch zu den Experten; auto: wie das Framework es tut.</translation>
    </message>
    <message>
        <source>Dispatcher</source>
        <translation>Verteiler</translation>
    </message>
    <message>
        <source>Kernel that carries tokens to the ranks of their experts.</source>
        <translation>Kernel, der Token zu den Rängen ihrer Experten bringt.</translation>
    </message>
    <message>
        <source>CUDA graphs</source>
        <translation>CUDA-Graphen</translation>
    </message>
    <message>
        <source>Launches that graphs replay instead of the host.</source>
        <translation>Aufrufe, die Graphen statt des Hosts wiederholen.</translation>
    </message>
    <message>
        <source>Compiled</source>
        <translation>Kompiliert</translation>
    </message>
    <message>
        <source>torch.compile or XLA: fewer operations for the host.</source>
        <translation>torch.compile oder XLA: weniger Operationen für den Host.</translation>
    </message>
    <message>
        <source>Rank of LoRA adapters.</source>
        <translation>Rang der LoRA-Adapter.</translation>
    </message>
    <message>
        <source>Offload to</source>
        <translation>Auslagern nach</translation>
    </message>
    <message>
        <source>Where offloaded tensors live: host memory or NVMe.</source>
        <translation>Wo ausgelagerte Tensoren liegen: Hauptspeicher oder NVMe.</translation>
    </message>
    <message>
        <source>Routing imbalance</source>
        <translation>Ungleiche Verteilung</translation>
    </message>
    <message>
        <source>× mean</source>
        <translation>× Mittel</translation>
    </message>
    <message>
        <source>Tokens of the busiest expert rank over the mean.</source>
        <translation>Tokens des vollsten Expertenrangs gegenüber dem Mittel.</translation>
    </message>
    <message>
        <source>Capacity factor</source>
        <translation>Kapazitätsfaktor</translation>
    </message>
    <message>
        <source>Tokens beyond this multiple of the mean per expert are dropped; 0: none are.</source>
        <translation>Tokens über dieses Vielfache des Mittels je Experte hinaus entfallen; 0: keine.</translation>
    </message>
    <message>
        <source>Pad to capacity</source>
        <translation>Auf Kapazität auffüllen</translation>
    </message>
    <message>
        <source>Every expert gets as many rows as its capacity factor says, empty ones too.</source>
        <translation>Jeder Experte bekommt so viele Zeilen, wie sein Kapazitätsfaktor sagt, auch leere.</translation>
    </message>
    <message>
        <source>%1 tokens; micro-batches: %2</source>
        <translation>%1 Tokens; Mikrostapel: %2</translation>
    </message>
    <message>
        <source>Offload optimizer</source>
        <translation>Optimierer auslagern</translation>
    </message>
    <message>
        <source>Offload parameters</source>
        <translation>Parameter auslagern</translation>
    </message>
    <message>
        <source>Offload activations</source>
        <translation>Aktivierungen auslagern</translation>
    </message>
    <message>
        <source>Kept outside the device between uses (ZeRO-Offload, ZeRO-Infinity).</source>
        <translation>Zwischen den Verwendungen außerhalb der GPU gehalten (ZeRO-Offload, ZeRO-Infinity).</translation>
    </message>
    <message>
        <source>Framework</source>
        <translation>Framework</translation>
    </message>
    <message>
        <source>Whose habits cost memory and time: what is saved, in which type, buckets, overlap, overheads.</source>
        <translation>Wessen Gewohnheiten Speicher und Zeit kosten: was in welchem Typ aufgehoben wird, Bündel, Überlappung, Aufwände.</translation>
    </message>
    <message>
        <source>Cluster</source>
        <translation>Cluster</translation>
    </message>
    <message>
        <source>Layout</source>
        <translation>Aufteilung</translation>
    </message>
    <message>
        <source>Recipe</source>
        <translation>Rezept</translation>
    </message>
    <message>
        <source>Offloaded layers</source>
        <translation>Ausgelagerte Schichten</translation>
    </message>
    <message>
        <source>per stage</source>
        <translation>je Stufe</translation>
    </message>
    <message>
        <source>Layers whose activations are offloaded; 0: all of a stage.</source>
        <translation>Schichten, deren Aktivierungen ausgelagert werden; 0: alle einer Stufe.</translation>
    </message>
    <message>
        <source>Offloaded share</source>
        <translation>Ausgelagerter Anteil</translation>
    </message>
    <message>
        <source>× states</source>
        <translation>× Zustände</translation>
    </message>
    <message>
        <source>Share of the optimizer&apos;s states that the host keeps and updates.</source>
        <translation>Anteil der Zustände des Optimierers, den der Host hält und aktualisiert.</translation>
    </message>
    <message>
        <source>Trained biases</source>
        <translation>Trainierte Bias-Vektoren</translation>
    </message>
    <message>
        <source>Biases of the model that train beside LoRA adapters: of all layers and norms, or of the adapted layers.</source>
        <translation>Bias-Vektoren des Modells, die neben LoRA-Adaptern trainiert werden: die aller Schichten und Normen oder die der angepassten Schichten.</translation>
    </message>
    <message>
        <source>Trained modules</source>
        <translation>Trainierte Module</translation>
    </message>
    <message>
        <source>Word table and output layer that train as a whole beside adapters, with gradients and states of their own; PEFT keeps the frozen ones as well.</source>
        <translation>Worttabelle und Ausgabeschicht, die neben Adaptern als Ganzes trainiert werden, mit eigenen Gradienten und Zuständen; PEFT behält die eingefrorenen daneben.</translation>
    </message>
    <message>
        <source>Adapted layers</source>
        <translation>Angepasste Schichten</translation>
    </message>
    <message>
        <source>Linear layers that LoRA adapters stand beside.</source>
        <translation>Lineare Schichten, neben denen LoRA-Adapter stehen.</translation>
    </message>
    <message>
        <source>Checkpoints</source>
        <translation>Sicherungspunkte</translation>
    </message>
    <message>
        <source>sync: training waits until a checkpoint is written; async: until it is copied to host memory.</source>
        <translation>sync: Das Training wartet, bis ein Sicherungspunkt geschrieben ist; async: bis er in den Hauptspeicher kopiert ist.</translation>
    </message>
    <message>
        <source>Checkpoint interval</source>
        <translation>Abstand der Sicherungspunkte</translation>
    </message>
    <message>
        <source>Training between two checkpoints: 30 min, 3 h. auto: what costs the least time.</source>
        <translation>Training zwischen zwei Sicherungspunkten: 30 min, 3 h. auto: was am wenigsten Zeit kostet.</translation>
    </message>
    <message>
        <source>MTBF of a GPU</source>
        <translation>MTBF einer GPU</translation>
    </message>
    <message>
        <source>Mean time between failures of one GPU and its process; auto: the cluster&apos;s, or as in the Llama 3 report.</source>
        <translation>Mittlere Zeit zwischen Ausfällen einer GPU und ihres Prozesses; auto: die des Clusters oder wie im Bericht zu Llama 3.</translation>
    </message>
    <message>
        <source>MTBF of a node</source>
        <translation>MTBF eines Knotens</translation>
    </message>
    <message>
        <source>Mean time between failures of what a node has beside its GPUs; auto: the cluster&apos;s, or as in the Llama 3 report.</source>
        <translation>Mittlere Zeit zwischen Ausfällen dessen, was ein Knoten neben seinen GPUs hat; auto: die des Clusters oder wie im Bericht zu Llama 3.</translation>
    </message>
    <message>
        <source>MTBF of a link</source>
        <translation>MTBF einer Verbindung</translation>
    </message>
    <message>
        <source>Mean time between failures of one GPU&apos;s link to other nodes; auto: the cluster&apos;s, or as in the Llama 3 report.</source>
        <translation>Mittlere Zeit zwischen Ausfällen der Verbindung einer GPU zu anderen Knoten; auto: die des Clusters oder wie im Bericht zu Llama 3.</translation>
    </message>
    <message>
        <source>Storage</source>
        <translation>Massenspeicher</translation>
    </message>
    <message>
        <source>Rate at which the whole job writes and loads checkpoints; auto: the cluster&apos;s, or 0.7 GB/s per node.</source>
        <translation>Rate, mit der der ganze Lauf Sicherungspunkte schreibt und lädt; auto: die des Clusters oder 0,7 GB/s je Knoten.</translation>
    </message>
    <message>
        <source>Restart</source>
        <translation>Neustart</translation>
    </message>
    <message>
        <source>From a failure until training goes on, without loading the checkpoint; auto: the cluster&apos;s, or 10 min.</source>
        <translation>Von einem Ausfall, bis das Training weitergeht, ohne das Laden des Sicherungspunkts; auto: die Zeit des Clusters oder 10 min.</translation>
    </message>
    <message>
        <source>Repair of a node</source>
        <translation>Reparatur eines Knotens</translation>
    </message>
    <message>
        <source>Until a node that failed is back; auto: the cluster&apos;s, or 1 d.</source>
        <translation>Bis ein ausgefallener Knoten zurück ist; auto: die Zeit des Clusters oder 1 d.</translation>
    </message>
    <message>
        <source>Spare nodes</source>
        <translation>Ersatzknoten</translation>
    </message>
    <message>
        <source>nodes</source>
        <translation>Knoten</translation>
    </message>
    <message>
        <source>Nodes that wait to replace others, and are paid for; auto: the cluster&apos;s, or one is always at hand.</source>
        <translation>Knoten, die bereitstehen, um andere zu ersetzen, und bezahlt werden; auto: die des Clusters oder immer einer zur Hand.</translation>
    </message>
    <message>
        <source>PUE</source>
        <translation>PUE</translation>
    </message>
    <message>
        <source>× GPUs</source>
        <translation>× GPUs</translation>
    </message>
    <message>
        <source>Energy of the site over that of its GPUs; auto: the cluster&apos;s, or the GPUs alone.</source>
        <translation>Energie des Standorts geteilt durch die seiner GPUs; auto: die des Clusters oder nur die GPUs.</translation>
    </message>
    <message>
        <source>Reduction</source>
        <translation>Reduktion</translation>
    </message>
    <message>
        <source>FSDP reduces gradients in every micro-batch, between replicas of hybrid sharding in the last alone, or all of them once (no_sync): until then whole gradients wait.</source>
        <translation>FSDP reduziert Gradienten in jedem Mikrobatch, zwischen Repliken beim hybriden Sharding erst im letzten, oder alle einmal (no_sync): bis dahin warten ganze Gradienten.</translation>
    </message>
    <message>
        <source>Double quantisation</source>
        <translation>Doppelte Quantisierung</translation>
    </message>
    <message>
        <source>QLoRA: the scales of 4-bit weights are quantised to 8 bits themselves, 0.37 bit per weight less.</source>
        <translation>QLoRA: auch die Skalen der 4-Bit-Gewichte werden auf 8 Bit quantisiert, 0,37 Bit je Gewicht weniger.</translation>
    </message>
    <message>
        <source>Adapter alpha</source>
        <translation>Adapter-Alpha</translation>
    </message>
    <message>
        <source>LoRA adds alpha/rank times what adapters make; twice the rank if not said.</source>
        <translation>LoRA addiert, was die Adapter ergeben, mal Alpha/Rang; ohne Angabe ist Alpha das Doppelte des Rangs.</translation>
    </message>
    <message>
        <source>Padding</source>
        <translation>Auffüllen</translation>
    </message>
    <message>
        <source>max_length: all batches have the sequence length, padded to it or packed; longest: that of their longest sequence, so that the allocator holds more.</source>
        <translation>max_length: Alle Batches haben die Sequenzlänge, aufgefüllt oder gepackt; longest: die ihrer längsten Sequenz, sodass der Allokator mehr hält.</translation>
    </message>
    <message>
        <source>Moments in</source>
        <translation>Momente in</translation>
    </message>
    <message>
        <source>Type in which AdamW&apos;s two moments are kept; auto: the framework&apos;s.</source>
        <translation>Typ, in dem die beiden Momente von AdamW gehalten werden; auto: der des Frameworks.</translation>
    </message>
    <message>
        <source>A published model, the path of a Hugging Face config.json, or dimensions: layers=8 hidden=512 heads=8 ffn=1376 vocab=32000. Files can also be dropped onto the window.</source>
        <translation>Ein veröffentlichtes Modell, der Pfad einer config.json von Hugging Face oder Maße: layers=8 hidden=512 heads=8 ffn=1376 vocab=32000. Dateien können auch auf das Fenster gezogen werden.</translation>
    </message>
    <message>
        <source>Reduction bucket</source>
        <translation>Reduktionspaket</translation>
    </message>
    <message>
        <source>elements</source>
        <translation>Elemente</translation>
    </message>
    <message>
        <source>Gradients that ZeRO reduces at a time (DeepSpeed reduce_bucket_size); auto: the framework&apos;s.</source>
        <translation>Gradienten, die ZeRO auf einmal reduziert (DeepSpeed reduce_bucket_size); auto: wie im Framework.</translation>
    </message>
    <message>
        <source>Fetched ahead</source>
        <translation>Vorausgeholt</translation>
    </message>
    <message>
        <source>ZeRO-3: parameters that are gathered ahead of the module that runs (stage3_prefetch_bucket_size).</source>
        <translation>ZeRO-3: Parameter, die vor dem laufenden Modul eingesammelt werden (stage3_prefetch_bucket_size).</translation>
    </message>
    <message>
        <source>Live parameters</source>
        <translation>Lebende Parameter</translation>
    </message>
    <message>
        <source>ZeRO-3: with so many parameters gathered, nothing more is fetched ahead (stage3_max_live_parameters).</source>
        <translation>ZeRO-3: Sind so viele Parameter eingesammelt, wird nichts mehr vorausgeholt (stage3_max_live_parameters).</translation>
    </message>
    <message>
        <source>Reuse distance</source>
        <translation>Wiederverwendung</translation>
    </message>
    <message>
        <source>ZeRO-3: what runs again within so many parameters stays gathered (stage3_max_reuse_distance).</source>
        <translation>ZeRO-3: Was innerhalb so vieler Parameter wieder läuft, bleibt eingesammelt (stage3_max_reuse_distance).</translation>
    </message>
    <message>
        <source>Persistence</source>
        <translation>Bleibende Tensoren</translation>
    </message>
    <message>
        <source>ZeRO-3: tensors of so many elements or fewer stay whole on every rank (stage3_param_persistence_threshold).</source>
        <translation>ZeRO-3: Tensoren mit höchstens so vielen Elementen bleiben auf jedem Rang ganz (stage3_param_persistence_threshold).</translation>
    </message>
    <message>
        <source>Updated at a time</source>
        <translation>Auf einmal aktualisiert</translation>
    </message>
    <message>
        <source>ZeRO-3: parameters of a rank&apos;s shard that are updated at a time (sub_group_size).</source>
        <translation>ZeRO-3: Parameter aus dem Teil eines Rangs, die auf einmal aktualisiert werden (sub_group_size).</translation>
    </message>
    <message>
        <source>DoRA</source>
        <translation>DoRA</translation>
    </message>
    <message>
        <source>Directions and magnitudes of the adapted weights are learned apart: further products and kept outputs beside every adapter.</source>
        <translation>Richtungen und Längen der angepassten Gewichte werden getrennt gelernt: weitere Produkte und aufgehobene Ausgaben neben jedem Adapter.</translation>
    </message>
    <message>
        <source>flash: scores are never stored, by the framework&apos;s library; flash-attention-2: by that one; fused-softmax and unfused keep them for the backward pass.</source>
        <translation>flash: Scores werden nie gespeichert, mit der Bibliothek des Frameworks; flash-attention-2: mit dieser; fused-softmax und unfused behalten sie für den Rückwärtslauf.</translation>
    </message>
    <message>
        <source>Projection rank</source>
        <translation>Rang der Projektion</translation>
    </message>
    <message>
        <source>GaLore, APOLLO: dimensions of the subspace in which moments of a matrix are kept; 128, of apollo-mini 1, if not said.</source>
        <translation>GaLore, APOLLO: Dimensionen des Unterraums, in dem die Momente einer Matrix gehalten werden; ohne Angabe 128, bei apollo-mini 1.</translation>
    </message>
    <message>
        <source>Projection interval</source>
        <translation>Abstand der Projektionen</translation>
    </message>
    <message>
        <source>steps</source>
        <translation>Schritte</translation>
    </message>
    <message>
        <source>GaLore, APOLLO: steps after which subspaces are chosen anew; 200 if not said. Times are means over them.</source>
        <translation>GaLore, APOLLO: Schritte, nach denen die Unterräume neu gewählt werden; ohne Angabe 200. Zeiten sind Mittel darüber.</translation>
    </message>
    <message>
        <source>Precondition frequency</source>
        <translation>Abstand der Vorkonditionierungen</translation>
    </message>
    <message>
        <source>Shampoo, SOAP: steps after which roots or bases are made anew; 100, of soap 10, if not said. Times are means over them.</source>
        <translation>Shampoo, SOAP: Schritte, nach denen Wurzeln oder Basen neu berechnet werden; ohne Angabe 100, bei soap 10. Zeiten sind Mittel darüber.</translation>
    </message>
    <message>
        <source>Longest preconditioned side</source>
        <translation>Längste vorkonditionierte Seite</translation>
    </message>
    <message>
        <source>Shampoo: longest side of the blocks of a matrix, 8192 if not said; SOAP: longest side that has a basis, 10000 if not said.</source>
        <translation>Shampoo: längste Seite der Blöcke einer Matrix, ohne Angabe 8192; SOAP: längste Seite, die eine Basis hat, ohne Angabe 10000.</translation>
    </message>
    <message>
        <source>Outer steps every</source>
        <translation>Äußere Schritte alle</translation>
    </message>
    <message>
        <source>DiLoCo: steps of the optimizer from one outer step to the next, in which replicas (diloco2 in the layout) exchange what their parameters have moved by. Empty: none are taken.</source>
        <translation>DiLoCo: Schritte des Optimierers von einem äußeren Schritt zum nächsten, in dem Replikate (diloco2 im Layout) austauschen, worum sich ihre Parameter bewegt haben. Leer: keine.</translation>
    </message>
    <message>
        <source>Outer gradients in</source>
        <translation>Äußere Gradienten in</translation>
    </message>
    <message>
        <source>Type in which outer gradients travel between replicas.</source>
        <translation>Typ, in dem äußere Gradienten zwischen Replikaten reisen.</translation>
    </message>
    <message>
        <source>Outer states on</source>
        <translation>Äußere Zustände auf</translation>
    </message>
    <message>
        <source>Where outer steps keep the parameters of the last one, and their momentum: both on the GPU, the copy in host memory, or both there.</source>
        <translation>Wo äußere Schritte die Parameter des letzten und ihr Momentum halten: beides auf der GPU, die Kopie im Hauptspeicher oder beides dort.</translation>
    </message>
    <message>
        <source>Replicas apart</source>
        <translation>Getrennte Replikate</translation>
    </message>
    <message>
        <source>DiLoCo: replicas of all of this, one per site for example, that train apart between outer steps. Data parallelism takes what is left of each.</source>
        <translation>DiLoCo: Replikate von alldem, etwa eines je Standort, die zwischen äußeren Schritten getrennt trainieren. Datenparallelität nimmt, was von jedem übrig bleibt.</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::FieldRow</name>
    <message>
        <source>%1: automatic again</source>
        <translation>%1: wieder automatisch</translation>
    </message>
    <message>
        <source>Automatic again: follows from the rest</source>
        <translation>Wieder automatisch: folgt aus dem Übrigen</translation>
    </message>
    <message>
        <source>not in the numbers</source>
        <translation>nicht in den Zahlen</translation>
    </message>
    <message>
        <source>Automatic. %1</source>
        <translation>Automatisch. %1</translation>
    </message>
    <message>
        <source>no effect here</source>
        <translation>hier ohne Wirkung</translation>
    </message>
    <message>
        <source>%1, slider</source>
        <translation>%1, Schieber</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::FigureList</name>
    <message>
        <source>Figures</source>
        <translation>Zahlen</translation>
    </message>
</context>
<context>
    <name>Figures</name>
    <message>
        <source>memory of the fullest GPU</source>
        <translation>Speicher der vollsten GPU</translation>
    </message>
    <message>
        <source>on the device</source>
        <translation>auf dem Gerät</translation>
    </message>
    <message>
        <source>Everything: what nvidia-smi shows, what runs out.</source>
        <translation>Alles: was nvidia-smi zeigt, was ausgeht.</translation>
    </message>
    <message>
        <source>to spare</source>
        <translation>frei</translation>
    </message>
    <message>
        <source>Usable memory left over.</source>
        <translation>Nutzbarer Speicher, der übrig bleibt.</translation>
    </message>
    <message>
        <source>allocated</source>
        <translation>belegt</translation>
    </message>
    <message>
        <source>Peak of live tensors (torch.cuda.max_memory_allocated).</source>
        <translation>Spitze der lebenden Tensoren (torch.cuda.max_memory_allocated).</translation>
    </message>
    <message>
        <source>reserved</source>
        <translation>reserviert</translation>
    </message>
    <message>
        <source>Peak of the caching allocator (torch.cuda.max_memory_reserved).</source>
        <translation>Spitze des Caching-Allokators (torch.cuda.max_memory_reserved).</translation>
    </message>
    <message>
        <source>time of one step</source>
        <translation>Zeit eines Schritts</translation>
    </message>
    <message>
        <source>one step</source>
        <translation>ein Schritt</translation>
    </message>
    <message>
        <source>One optimizer step.</source>
        <translation>Ein Optimiererschritt.</translation>
    </message>
    <message>
        <source>throughput</source>
        <translation>Durchsatz</translation>
    </message>
    <message>
        <source>tokens/s</source>
        <translation>Tokens/s</translation>
    </message>
    <message>
        <source>Of the whole job.</source>
        <translation>Des ganzen Laufs.</translation>
    </message>
    <message>
        <source>tokens/s/GPU</source>
        <translation>Tokens/s/GPU</translation>
    </message>
    <message>
        <source>Of one GPU.</source>
        <translation>Einer GPU.</translation>
    </message>
    <message>
        <source>TFLOP/s/GPU</source>
        <translation>TFLOP/s/GPU</translation>
    </message>
    <message>
        <source>Model FLOPs; causal attention halved.</source>
        <translation>FLOPs des Modells; kausale Attention halbiert.</translation>
    </message>
    <message>
        <source>MFU</source>
        <translation>MFU</translation>
    </message>
    <message>
        <source>Model FLOPs over the dense peak; causal attention halved. Formula U2.</source>
        <translation>FLOPs des Modells über der dichten Spitzenleistung; kausale Attention halbiert. Formel U2.</translation>
    </message>
    <message>
        <source>HFU</source>
        <translation>HFU</translation>
    </message>
    <message>
        <source>As MFU, with recomputed FLOPs. Formula U2.</source>
        <translation>Wie MFU, mit neu berechneten FLOPs. Formel U2.</translation>
    </message>
    <message>
        <source>whole training run</source>
        <translation>ganzer Trainingslauf</translation>
    </message>
    <message>
        <source>duration</source>
        <translation>Dauer</translation>
    </message>
    <message>
        <source>steps</source>
        <translation>Schritte</translation>
    </message>
    <message>
        <source>Optimizer steps.</source>
        <translation>Optimiererschritte.</translation>
    </message>
    <message>
        <source>GPU-hours</source>
        <translation>GPU-Stunden</translation>
    </message>
    <message>
        <source>Duration × GPUs. Formula U3.</source>
        <translation>Dauer × GPUs. Formel U3.</translation>
    </message>
    <message>
        <source>cost</source>
        <translation>Kosten</translation>
    </message>
    <message>
        <source>At the GPU&apos;s price per hour. Formula U3.</source>
        <translation>Zum Stundenpreis der GPU. Formel U3.</translation>
    </message>
    <message>
        <source>chance of running out</source>
        <translation>Überlaufrisiko</translation>
    </message>
    <message>
        <source>That the true peak is above what is usable. Formula T9.</source>
        <translation>Dass die wirkliche Spitze über dem Nutzbaren liegt. Formel T9.</translation>
    </message>
    <message>
        <source>time per million tokens</source>
        <translation>Zeit je Million Token</translation>
    </message>
    <message>
        <source>Of the whole job, whatever the batch.</source>
        <translation>Des ganzen Laufs, gleich bei welchem Batch.</translation>
    </message>
    <message>
        <source>GPU time per million tokens</source>
        <translation>GPU-Zeit je Million Token</translation>
    </message>
    <message>
        <source>Time of all GPUs together, whatever the batch and their number.</source>
        <translation>Zeit aller GPUs zusammen, gleich bei welchem Batch und welcher Anzahl.</translation>
    </message>
    <message>
        <source>For the recipe&apos;s tokens, failures included. Formula U3.</source>
        <translation>Für die Tokens des Rezepts, mit Ausfällen. Formel U3.</translation>
    </message>
    <message>
        <source>energy (kWh)</source>
        <translation>Energie (kWh)</translation>
    </message>
    <message>
        <source>Of the GPUs at their board power. Formula U3.</source>
        <translation>Der GPUs bei ihrer Nennleistung. Formel U3.</translation>
    </message>
    <message>
        <source>goodput</source>
        <translation>Nutzanteil</translation>
    </message>
    <message>
        <source>Share of the time in steps that last: not lost to checkpoints and failures. Formula U4.</source>
        <translation>Anteil der Zeit in Schritten, die Bestand haben: nicht an Sicherungspunkte und Ausfälle verloren. Formel U4.</translation>
    </message>
    <message>
        <source>checkpoint interval</source>
        <translation>Abstand der Sicherungspunkte</translation>
    </message>
    <message>
        <source>Training between two checkpoints. Formula U4.</source>
        <translation>Training zwischen zwei Sicherungspunkten. Formel U4.</translation>
    </message>
    <message>
        <source>failures</source>
        <translation>Ausfälle</translation>
    </message>
    <message>
        <source>That are expected to interrupt the run. Formula U4.</source>
        <translation>Die den Lauf voraussichtlich unterbrechen. Formel U4.</translation>
    </message>
</context>
<context>
    <name>FormulaPage</name>
    <message>
        <source>Formula %1</source>
        <translation>Formel %1</translation>
    </message>
    <message>
        <source>Formulas</source>
        <translation>Formeln</translation>
    </message>
    <message>
        <source>Formula</source>
        <translation>Formel</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::HeatMap</name>
    <message>
        <source>Heat map</source>
        <translation>Wärmekarte</translation>
    </message>
    <message>
        <source>The best plan for every pair of values. Arrows go from cell to cell, Enter loads its plan.</source>
        <translation>Der beste Plan für jedes Wertepaar. Pfeiltasten gehen von Zelle zu Zelle, Eingabe lädt deren Plan.</translation>
    </message>
    <message>
        <source>%1 %2, %3 %4</source>
        <translation>%1 %2, %3 %4</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>%1 over %2 and %3.</source>
        <translation>%1 über %2 und %3.</translation>
    </message>
</context>
<context>
    <name>Instant</name>
    <message>
        <source>forward</source>
        <translation>vorwärts</translation>
    </message>
    <message>
        <source>loss</source>
        <translation>Verlust</translation>
    </message>
    <message>
        <source>head backward</source>
        <translation>Ausgabe rückwärts</translation>
    </message>
    <message>
        <source>backward</source>
        <translation>rückwärts</translation>
    </message>
    <message>
        <source>optimizer step</source>
        <translation>Optimiererschritt</translation>
    </message>
    <message>
        <source>between steps</source>
        <translation>zwischen Schritten</translation>
    </message>
</context>
<context>
    <name>Ledger</name>
    <message>
        <source>, without positions</source>
        <translation>, ohne Positionen</translation>
    </message>
    <message>
        <source>expert layers, sliding window</source>
        <translation>Expertenschichten, gleitendes Fenster</translation>
    </message>
    <message>
        <source>expert layers</source>
        <translation>Expertenschichten</translation>
    </message>
    <message>
        <source>layers, sliding window</source>
        <translation>Schichten, gleitendes Fenster</translation>
    </message>
    <message>
        <source>layers</source>
        <translation>Schichten</translation>
    </message>
    <message>
        <source>reserved by the allocator, not in use</source>
        <translation>vom Allokator reserviert, ungenutzt</translation>
    </message>
    <message>
        <source>by the order of the schedule</source>
        <translation>durch die Reihenfolge des Ablaufplans</translation>
    </message>
    <message>
        <source>all on the device</source>
        <translation>alles auf der GPU</translation>
    </message>
    <message>
        <source>multi-token-prediction modules</source>
        <translation>Module der Mehr-Token-Vorhersage</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::LedgerTreeModel</name>
    <message>
        <source>tensor</source>
        <translation>Tensor</translation>
    </message>
    <message>
        <source>Kind, layer class, tensor: as the ledger names it.</source>
        <translation>Art, Schichtklasse, Tensor: wie das Verzeichnis sie nennt.</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>On one GPU, at the peak.</source>
        <translation>Auf einer GPU, an der Spitze.</translation>
    </message>
    <message>
        <source>share</source>
        <translation>Anteil</translation>
    </message>
    <message>
        <source>copies</source>
        <translation>Kopien</translation>
    </message>
    <message>
        <source>Layers × micro-batches in flight × copies of each.</source>
        <translation>Schichten × Mikrobatches unterwegs × Kopien davon.</translation>
    </message>
    <message>
        <source>elements</source>
        <translation>Elemente</translation>
    </message>
    <message>
        <source>Numbers in one copy, on one GPU.</source>
        <translation>Zahlen in einer Kopie, auf einer GPU.</translation>
    </message>
    <message>
        <source>type</source>
        <translation>Typ</translation>
    </message>
    <message>
        <source>Storage type of one element.</source>
        <translation>Speichertyp eines Elements.</translation>
    </message>
    <message>
        <source>formula</source>
        <translation>Formel</translation>
    </message>
    <message>
        <source>Section of docs/formulas.md that says why it is this large.</source>
        <translation>Abschnitt von docs/formulas.md, der sagt, warum es so groß ist.</translation>
    </message>
    <message>
        <source>%1 bytes</source>
        <translation>%1 Bytes</translation>
    </message>
    <message>
        <source>%1: see docs/formulas.md, %2</source>
        <translation>%1: siehe docs/formulas.md, %2</translation>
    </message>
    <message>
        <source>Of all that is on the device.</source>
        <translation>An allem, was auf der GPU liegt.</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::MachinesPanel</name>
    <message>
        <source>nothing keeps the limits</source>
        <translation>nichts hält die Grenzen ein</translation>
    </message>
    <message>
        <source>the same plan</source>
        <translation>derselbe Plan</translation>
    </message>
    <message>
        <source>step %1, risk %2, recompute %3</source>
        <translation>Schritt %1, Risiko %2, Neuberechnung %3</translation>
    </message>
    <message>
        <source>a step costs US$ %1 (%2)</source>
        <translation>ein Schritt kostet US$ %1 (%2)</translation>
    </message>
    <message>
        <source>cost %1</source>
        <translation>Kosten %1</translation>
    </message>
    <message>
        <source>Search on other machines</source>
        <translation>Auf anderen Rechnern suchen</translation>
    </message>
    <message>
        <source>One search each with more memory, faster links and another price</source>
        <translation>Je eine Suche mit mehr Speicher, schnelleren Verbindungen und anderem Preis</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Progress of the searches on other machines</source>
        <translation>Fortschritt der Suchen auf anderen Rechnern</translation>
    </message>
    <message>
        <source>What one more GiB, a faster network and another price would make of the best plan appears here.</source>
        <translation>Hier erscheint, was ein GiB mehr, ein schnelleres Netz und ein anderer Preis aus dem besten Plan machen würden.</translation>
    </message>
    <message>
        <source>tokens per second</source>
        <translation>Tokens pro Sekunde</translation>
    </message>
    <message>
        <source>The search broke off: %1.</source>
        <translation>Die Suche brach ab: %1.</translation>
    </message>
    <message>
        <source>The search was cancelled.</source>
        <translation>Die Suche wurde abgebrochen.</translation>
    </message>
    <message>
        <source>No layout keeps the limits on the present machines.</source>
        <translation>Auf den jetzigen Rechnern hält kein Layout die Grenzen ein.</translation>
    </message>
    <message>
        <source>Tokens per second of the best plan on other machines, beside the best on these: %1, %2 per step.</source>
        <translation>Tokens pro Sekunde des besten Plans auf anderen Rechnern, verglichen mit dem besten auf diesen: %1, %2 je Schritt.</translation>
    </message>
    <message>
        <source>It answers another question than the present one.</source>
        <translation>Es beantwortet eine andere Frage als die jetzige.</translation>
    </message>
    <message>
        <source>Not searched: %1</source>
        <translation>Nicht gesucht: %1</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::MainWindow</name>
    <message>
        <source>Open a config.json</source>
        <translation>Eine config.json öffnen</translation>
    </message>
    <message>
        <source>Model (*.json);;All files (*)</source>
        <translation>Modell (*.json);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>Suche</translation>
    </message>
    <message>
        <source>Compare</source>
        <translation>Vergleich</translation>
    </message>
    <message>
        <source>Validation</source>
        <translation>Prüfung</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>Öffnen</translation>
    </message>
    <message>
        <source>Cluster: %1</source>
        <translation>Cluster: %1</translation>
    </message>
    <message>
        <source>Not opened: %1</source>
        <translation>Nicht geöffnet: %1</translation>
    </message>
    <message>
        <source>Model: %1</source>
        <translation>Modell: %1</translation>
    </message>
    <message>
        <source>Executed run</source>
        <translation>Ausgeführter Lauf</translation>
    </message>
    <message>
        <source>Not saved: %1: %2</source>
        <translation>Nicht gespeichert: %1: %2</translation>
    </message>
    <message>
        <source>Hexaplan scenario (*.json)</source>
        <translation>Hexaplan-Szenario (*.json)</translation>
    </message>
    <message>
        <source>Unsaved changes</source>
        <translation>Nicht gespeicherte Änderungen</translation>
    </message>
    <message>
        <source>Example</source>
        <translation>Beispiel</translation>
    </message>
    <message>
        <source>The search was cancelled before it found a layout that fits.</source>
        <translation>Die Suche wurde abgebrochen, bevor sie eine passende Aufteilung fand.</translation>
    </message>
    <message>
        <source>No layout fits on these GPUs: use more of them, or larger ones.</source>
        <translation>Keine Aufteilung passt auf diese GPUs: mehr oder größere nehmen.</translation>
    </message>
    <message>
        <source>Fastest layout that fits</source>
        <translation>Schnellste passende Aufteilung</translation>
    </message>
    <message>
        <source>Only files of this machine can be dropped here.</source>
        <translation>Nur Dateien dieses Rechners können hier abgelegt werden.</translation>
    </message>
    <message>
        <source>Untitled</source>
        <translation>Unbenannt</translation>
    </message>
    <message>
        <source>%1[*] – Hexaplan</source>
        <translation>%1[*] – Hexaplan</translation>
    </message>
    <message>
        <source>&amp;File</source>
        <translation>&amp;Datei</translation>
    </message>
    <message>
        <source>&amp;New</source>
        <translation>&amp;Neu</translation>
    </message>
    <message>
        <source>&amp;Open…</source>
        <translation>Ö&amp;ffnen…</translation>
    </message>
    <message>
        <source>Open &amp;recent</source>
        <translation>&amp;Zuletzt geöffnet</translation>
    </message>
    <message>
        <source>&amp;Save</source>
        <translation>&amp;Speichern</translation>
    </message>
    <message>
        <source>Save &amp;as…</source>
        <translation>Speichern &amp;unter…</translation>
    </message>
    <message>
        <source>&amp;Export charts of this page…</source>
        <translation>Diagramm dieser Seite &amp;exportieren…</translation>
    </message>
    <message>
        <source>Export the step for &amp;Perfetto…</source>
        <translation>Schritt für &amp;Perfetto exportieren…</translation>
    </message>
    <message>
        <source>&amp;Print or save as PDF…</source>
        <translation>&amp;Drucken oder als PDF sichern…</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>&amp;Beenden</translation>
    </message>
    <message>
        <source>&amp;Edit</source>
        <translation>&amp;Bearbeiten</translation>
    </message>
    <message>
        <source>&amp;Undo</source>
        <translation>&amp;Rückgängig</translation>
    </message>
    <message>
        <source>&amp;Redo</source>
        <translation>&amp;Wiederholen</translation>
    </message>
    <message>
        <source>Copy as &amp;command line</source>
        <translation>Als &amp;Befehlszeile kopieren</translation>
    </message>
    <message>
        <source>Copied: %1</source>
        <translation>Kopiert: %1</translation>
    </message>
    <message>
        <source>Go to the &amp;model</source>
        <translation>Zum &amp;Modell</translation>
    </message>
    <message>
        <source>Go to the c&amp;luster</source>
        <translation>Zum C&amp;luster</translation>
    </message>
    <message>
        <source>Go to the r&amp;ecipe</source>
        <translation>Zum R&amp;ezept</translation>
    </message>
    <message>
        <source>Go to the la&amp;yout</source>
        <translation>Zur Au&amp;fteilung</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>&amp;Ansicht</translation>
    </message>
    <message>
        <source>&amp;Dark colours</source>
        <translation>&amp;Dunkle Farben</translation>
    </message>
    <message>
        <source>&amp;Bytes in GB (10⁹) instead of GiB (2³⁰)</source>
        <translation>&amp;Bytes in GB (10⁹) statt GiB (2³⁰)</translation>
    </message>
    <message>
        <source>&amp;Full screen</source>
        <translation>&amp;Vollbild</translation>
    </message>
    <message>
        <source>&amp;Compare</source>
        <translation>Ver&amp;gleich</translation>
    </message>
    <message>
        <source>Pin as &amp;baseline</source>
        <translation>Als &amp;Grundlinie merken</translation>
    </message>
    <message>
        <source>&amp;Remove the baseline</source>
        <translation>Grundlinie &amp;entfernen</translation>
    </message>
    <message>
        <source>&amp;Pin this state</source>
        <translation>Diesen Zustand &amp;merken</translation>
    </message>
    <message>
        <source>Remove &amp;all pins</source>
        <translation>&amp;Alle gemerkten Zustände entfernen</translation>
    </message>
    <message>
        <source>&amp;Find a layout that fits</source>
        <translation>&amp;Passende Aufteilung finden</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>&amp;Hilfe</translation>
    </message>
    <message>
        <source>&amp;Formulas</source>
        <translation>&amp;Formeln</translation>
    </message>
    <message>
        <source>&amp;Keyboard</source>
        <translation>&amp;Tastatur</translation>
    </message>
    <message>
        <source>Keyboard</source>
        <translation>Tastatur</translation>
    </message>
    <message>
        <source>Charts: arrows go from item to item, Enter activates, the context menu exports. Timeline: W and S zoom, A and D move, F shows all.</source>
        <translation>Diagramme: Pfeiltasten gehen von Teil zu Teil, Eingabe wählt, das Kontextmenü exportiert. Zeitachse: W und S zoomen, A und D verschieben, F zeigt alles.</translation>
    </message>
    <message>
        <source>&amp;About Hexaplan</source>
        <translation>&amp;Über Hexaplan</translation>
    </message>
    <message>
        <source>Actions</source>
        <translation>Aktionen</translation>
    </message>
    <message>
        <source>None yet</source>
        <translation>Noch keine</translation>
    </message>
    <message>
        <source>Forget them</source>
        <translation>Liste leeren</translation>
    </message>
    <message>
        <source>This page has no chart; its tables have a menu of their own.</source>
        <translation>Diese Seite hat kein Diagramm; ihre Tabellen haben ein eigenes Menü.</translation>
    </message>
    <message>
        <source>About Hexaplan</source>
        <translation>Über Hexaplan</translation>
    </message>
    <message>
        <source>&lt;h3&gt;Hexaplan %1&lt;/h3&gt;&lt;p&gt;Memory and step-time planner for training large transformers: does it fit, how fast is it, which layout is best.&lt;/p&gt;</source>
        <translation>&lt;h3&gt;Hexaplan %1&lt;/h3&gt;&lt;p&gt;Planer für Speicher und Schrittzeit beim Training großer Transformer: passt es, wie schnell ist es, welches Layout ist das beste.&lt;/p&gt;</translation>
    </message>
    <message>
        <source>Choose a model and GPUs first.</source>
        <translation>Zuerst ein Modell und GPUs wählen.</translation>
    </message>
    <message>
        <source>Copy share &amp;link</source>
        <translation>&amp;Link zum Teilen kopieren</translation>
    </message>
    <message>
        <source>The link holds the whole scenario; &apos;Paste share link&apos; of another window opens it.</source>
        <translation>Der Link enthält das ganze Szenario; &apos;Geteilten Link einfügen&apos; eines anderen Fensters öffnet es.</translation>
    </message>
    <message>
        <source>There is no share link in: %1</source>
        <translation>Darin ist kein geteilter Link: %1</translation>
    </message>
    <message>
        <source>Share link</source>
        <translation>Geteilter Link</translation>
    </message>
    <message>
        <source>Export &amp;launch configuration</source>
        <translation>&amp;Startkonfiguration exportieren</translation>
    </message>
    <message>
        <source>Only a plan that can run has a launch configuration.</source>
        <translation>Nur ein Plan, der laufen kann, hat eine Startkonfiguration.</translation>
    </message>
    <message>
        <source>Export launch configuration</source>
        <translation>Startkonfiguration exportieren</translation>
    </message>
    <message>
        <source>Written: %1. Not said there: %2.</source>
        <translation>Geschrieben: %1. Dort nicht gesagt: %2.</translation>
    </message>
    <message>
        <source>%1 is no longer on the disk; what you see is not saved.</source>
        <translation>%1 ist nicht mehr auf dem Datenträger; was zu sehen ist, ist nicht gespeichert.</translation>
    </message>
    <message>
        <source>Reloaded</source>
        <translation>Neu geladen</translation>
    </message>
    <message>
        <source>Another program changed %1.</source>
        <translation>Ein anderes Programm hat %1 geändert.</translation>
    </message>
    <message>
        <source>&amp;Reload</source>
        <translation>&amp;Neu laden</translation>
    </message>
    <message>
        <source>&amp;Keep mine</source>
        <translation>&amp;Meines behalten</translation>
    </message>
    <message>
        <source>The question that the plan answers is back with it. Undo takes both away.</source>
        <translation>Mit dem Plan ist die Frage zurück, die er beantwortet. Rückgängig nimmt beides weg.</translation>
    </message>
    <message>
        <source>The search broke off: %1.</source>
        <translation>Die Suche brach ab: %1.</translation>
    </message>
    <message>
        <source>No layout fits with a chance of running out of memory of at most %1; the fastest that fits as predicted has %2.</source>
        <translation>Kein Layout passt mit einem Überlaufrisiko von höchstens %1; das schnellste, das der Vorhersage nach passt, hat %2.</translation>
    </message>
    <message>
        <source>Load that one</source>
        <translation>Dieses laden</translation>
    </message>
    <message>
        <source>Fastest layout at any risk</source>
        <translation>Schnellstes Layout bei jedem Risiko</translation>
    </message>
    <message>
        <source>The question changed while the search ran: its layout was not loaded.</source>
        <translation>Während der Suche hat sich die Frage geändert: Ihr Layout wurde nicht geladen.</translation>
    </message>
    <message>
        <source>Search again</source>
        <translation>Neu suchen</translation>
    </message>
    <message>
        <source>Load it with the question it answers</source>
        <translation>Mit der Frage laden, die es beantwortet</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Redo</source>
        <translation>Wiederholen</translation>
    </message>
    <message>
        <source>A program that ended without saving left behind what cannot be read (%1); it is kept as %2.</source>
        <translation>Ein Programm, das ohne Speichern endete, hat Unlesbares hinterlassen (%1); es ist aufbewahrt als %2.</translation>
    </message>
    <message>
        <source>If the program ends without saving, what was changed is lost: %1</source>
        <translation>Endet das Programm ohne Speichern, ist das Geänderte verloren: %1</translation>
    </message>
    <message>
        <source>Settings of %1</source>
        <translation>Einstellungen von %1</translation>
    </message>
    <message>
        <source>Read as %1. %2</source>
        <translation>Gelesen als %1. %2</translation>
    </message>
    <message>
        <source>Sa&amp;ve a report…</source>
        <translation>&amp;Bericht sichern …</translation>
    </message>
    <message>
        <source>One page that every browser opens, and that this program opens again</source>
        <translation>Eine Seite, die jeder Browser öffnet und dieses Programm auch</translation>
    </message>
    <message>
        <source>&amp;Paste a link, a config.json or a launch command</source>
        <translation>Link, config.json oder Startbefehl &amp;einfügen</translation>
    </message>
    <message>
        <source>There is nothing to paste.</source>
        <translation>Es gibt nichts einzufügen.</translation>
    </message>
    <message>
        <source>pasted text</source>
        <translation>eingefügter Text</translation>
    </message>
    <message>
        <source>Save a report</source>
        <translation>Bericht sichern</translation>
    </message>
    <message>
        <source>Page (*.html)</source>
        <translation>Seite (*.html)</translation>
    </message>
    <message>
        <source>present plan</source>
        <translation>jetziger Plan</translation>
    </message>
    <message>
        <source>baseline</source>
        <translation>Grundlinie</translation>
    </message>
    <message>
        <source>Written: %1. Every browser opens it, and so does this program.</source>
        <translation>Geschrieben: %1. Jeder Browser öffnet es, und dieses Programm auch.</translation>
    </message>
    <message>
        <source>Next &amp;pane</source>
        <translation>Nächster &amp;Bereich</translation>
    </message>
    <message>
        <source>P&amp;revious pane</source>
        <translation>&amp;Voriger Bereich</translation>
    </message>
    <message>
        <source>Open a measured &amp;trace…</source>
        <translation>Gemessene Aufzeichnung (&amp;Trace) öffnen …</translation>
    </message>
    <message>
        <source>Check against Py&amp;Torch…</source>
        <translation>Gegen Py&amp;Torch prüfen…</translation>
    </message>
    <message>
        <source>One step in your own PyTorch, without a GPU, beside the prediction</source>
        <translation>Ein Schritt im eigenen PyTorch, ohne GPU, neben der Vorhersage</translation>
    </message>
    <message>
        <source>%1 × %2</source>
        <translation>%1 × %2</translation>
    </message>
    <message>
        <source>the files do not say the model: choose it at the left</source>
        <translation>die Dateien sagen das Modell nicht: links auswählen</translation>
    </message>
    <message>
        <source>the files start %1 GPUs and do not say their type</source>
        <translation>die Dateien starten %1 GPUs und sagen deren Typ nicht</translation>
    </message>
    <message>
        <source>the files start %1 GPUs and do not say their type: it stays as it was</source>
        <translation>die Dateien starten %1 GPUs und sagen deren Typ nicht: er bleibt, wie er war</translation>
    </message>
    <message>
        <source>Loaded the fastest layout that keeps every limit: %1 candidates, %2 priced, %3 of them keep every limit.</source>
        <translation>Das schnellste Layout, das alle Grenzen einhält, ist geladen: %1 Kandidaten, %2 berechnet, %3 davon halten alle Grenzen ein.</translation>
    </message>
    <message>
        <source>Simulated, its step takes %1; the tile has the closed form.</source>
        <translation>Simuliert dauert sein Schritt %1; oben steht die geschlossene Form.</translation>
    </message>
    <message>
        <source>Undo takes it back.</source>
        <translation>Rückgängig nimmt es zurück.</translation>
    </message>
    <message>
        <source>High &amp;contrast</source>
        <translation>Hoher &amp;Kontrast</translation>
    </message>
    <message>
        <source>Notes</source>
        <translation>Notizen</translation>
    </message>
    <message>
        <source>Hexaplan and models (*.hexaplan *.json *.html);;All files (*)</source>
        <translation>Hexaplan und Modelle (*.hexaplan *.json *.html);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>the files do not say the GPUs: choose them at the left</source>
        <translation>die Dateien nennen keine GPUs: links wählen</translation>
    </message>
    <message>
        <source>the files do not say the GPUs: they stay as they were</source>
        <translation>die Dateien nennen keine GPUs: sie bleiben, wie sie waren</translation>
    </message>
    <message>
        <source>%1 holds the question. Baseline, pins and notes are saved with a project.</source>
        <translation>%1 enthält die Frage. Grundlinie, gemerkte Zustände und Notizen speichert ein Projekt.</translation>
    </message>
    <message>
        <source>Save a project…</source>
        <translation>Projekt speichern…</translation>
    </message>
    <message>
        <source>Hexaplan project (*.hexaplan)</source>
        <translation>Hexaplan-Projekt (*.hexaplan)</translation>
    </message>
    <message>
        <source>Save as</source>
        <translation>Speichern unter</translation>
    </message>
    <message>
        <source>There are changes that are not saved.</source>
        <translation>Es gibt Änderungen, die nicht gespeichert sind.</translation>
    </message>
    <message>
        <source>Baseline, pins, notes or what was found are not saved.</source>
        <translation>Grundlinie, gemerkte Zustände, Notizen oder Gefundenes sind nicht gespeichert.</translation>
    </message>
    <message>
        <source>Open a project, a scenario, a model or an execution report</source>
        <translation>Projekt, Szenario, Modell oder Ausführungsbericht öffnen</translation>
    </message>
    <message>
        <source>Hexaplan, models and traces (*.hexaplan *.json *.json.gz *.sqlite *.html);;Launch files (*.sh *.yaml *.yml *.toml *.py);;All files (*)</source>
        <translation>Hexaplan, Modelle und Traces (*.hexaplan *.json *.json.gz *.sqlite *.html);;Startdateien (*.sh *.yaml *.yml *.toml *.py);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>The program ended without saving: its work is back. Undo takes question, comparison and notes away.</source>
        <translation>Das Programm endete, ohne zu speichern: Die Arbeit ist wieder da. Rückgängig nimmt Frage, Vergleich und Notizen weg.</translation>
    </message>
    <message>
        <source>Export the answer as &amp;JSON…</source>
        <translation>Antwort als &amp;JSON exportieren…</translation>
    </message>
    <message>
        <source>Export the answer</source>
        <translation>Antwort exportieren</translation>
    </message>
    <message>
        <source>Answer (*.json);;All files (*)</source>
        <translation>Antwort (*.json);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>Written: %1. It is what &apos;hexaplan estimate --json&apos; answers.</source>
        <translation>Geschrieben: %1. Es ist, was &apos;hexaplan estimate --json&apos; antwortet.</translation>
    </message>
    <message>
        <source>Pages</source>
        <translation>Seiten</translation>
    </message>
    <message>
        <source>%1 exists already. Replace it?</source>
        <translation>%1 gibt es schon. Ersetzen?</translation>
    </message>
    <message>
        <source>Open a report, a log or a memory snapshot</source>
        <translation>Bericht, Protokoll oder Speicherabbild öffnen</translation>
    </message>
    <message>
        <source>Reports, logs and snapshots (*.json *.log *.txt *.out *.pickle *.pkl *.gz);;All files (*)</source>
        <translation>Berichte, Protokolle und Abbilder (*.json *.log *.txt *.out *.pickle *.pkl *.gz);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>Read as the machines %1. %2. More nodes are chosen at the left.</source>
        <translation>Gelesen als die Rechner %1. %2. Mehr Knoten werden links gewählt.</translation>
    </message>
    <message>
        <source>The text does not say the type of the GPUs:</source>
        <translation>Der Text nennt den Typ der GPUs nicht:</translation>
    </message>
    <message>
        <source>Choose the model, GPUs and layout of the run first: %1 then stands beside their prediction.</source>
        <translation>Wählen Sie zuerst Modell, GPUs und Aufteilung des Laufs: dann steht %1 neben ihrer Vorhersage.</translation>
    </message>
    <message>
        <source>Reading %1 …</source>
        <translation>%1 wird gelesen …</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
</context>
<context>
    <name>MeasuredLogs</name>
    <message>
        <source>memory reserved, stage %1</source>
        <translation>reservierter Speicher, Stufe %1</translation>
    </message>
    <message>
        <source>memory allocated, stage %1</source>
        <translation>belegter Speicher, Stufe %1</translation>
    </message>
    <message>
        <source>%1, %2 of %3 logged times used</source>
        <translation>%1, %2 von %3 protokollierten Zeiten verwendet</translation>
    </message>
    <message>
        <source>one step</source>
        <translation>ein Schritt</translation>
    </message>
    <message>
        <source>memory snapshot, device %1</source>
        <translation>Speicherabbild, Gerät %1</translation>
    </message>
    <message>
        <source>log of nvidia-smi</source>
        <translation>Protokoll von nvidia-smi</translation>
    </message>
    <message>
        <source>device memory, fullest GPU</source>
        <translation>Gerätespeicher, vollste GPU</translation>
    </message>
    <message>
        <source>no column memory.used with numbers</source>
        <translation>keine Spalte memory.used mit Zahlen</translation>
    </message>
    <message>
        <source>nccl-tests, %1 over %2 ranks on 1 host</source>
        <translation>nccl-tests, %1 über %2 Ränge auf 1 Rechner</translation>
    </message>
    <message>
        <source>nccl-tests, %1 over %2 ranks on %3 hosts</source>
        <translation>nccl-tests, %1 über %2 Ränge auf %3 Rechnern</translation>
    </message>
    <message>
        <source>%1 bytes</source>
        <translation>%1 Bytes</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::MemoryCurve</name>
    <message>
        <source>activations</source>
        <translation>Aktivierungen</translation>
    </message>
    <message>
        <source>states and working sets</source>
        <translation>Zustände und Arbeitsbereiche</translation>
    </message>
    <message>
        <source>outside the tensors</source>
        <translation>außerhalb der Tensoren</translation>
    </message>
    <message>
        <source>Memory over time</source>
        <translation>Speicher über die Zeit</translation>
    </message>
    <message>
        <source>Live memory of one stage over one step. Left and right go from change to change.</source>
        <translation>Lebender Speicher einer Stufe über einen Schritt. Links und rechts gehen von Änderung zu Änderung.</translation>
    </message>
    <message>
        <source>time of the step</source>
        <translation>Zeit des Schritts</translation>
    </message>
    <message>
        <source>memory, %1</source>
        <translation>Speicher, %1</translation>
    </message>
    <message>
        <source>%1 at %2: %3 on the device
activations: %4
states and working sets: %5
outside the tensors: %6</source>
        <translation>%1 bei %2: %3 auf der GPU
Aktivierungen: %4
Zustände und Arbeitsmengen: %5
außerhalb der Tensoren: %6</translation>
    </message>
    <message>
        <source>Memory of %1 over a step of %2: between %3 and %4, highest at %5.</source>
        <translation>Speicher von %1 über einen Schritt von %2: zwischen %3 und %4, am höchsten bei %5.</translation>
    </message>
    <message>
        <source> Usable: %1.</source>
        <translation> Nutzbar: %1.</translation>
    </message>
    <message>
        <source>usable %1</source>
        <translation>nutzbar %1</translation>
    </message>
    <message>
        <source>device %1</source>
        <translation>Gerät %1</translation>
    </message>
    <message>
        <source>stage %1</source>
        <translation>Stufe %1</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::MemoryPage</name>
    <message>
        <source>Memory of every pipeline stage appears here.</source>
        <translation>Hier erscheint der Speicher jeder Pipelinestufe.</translation>
    </message>
    <message>
        <source>Instant of the step</source>
        <translation>Augenblick des Schritts</translation>
    </message>
    <message>
        <source>The moment of the step at which the ledger is shown</source>
        <translation>Der Augenblick des Schritts, für den die Tensorliste gilt</translation>
    </message>
    <message>
        <source>at the peak</source>
        <translation>an der Spitze</translation>
    </message>
    <message>
        <source>Filter tensors</source>
        <translation>Tensoren filtern</translation>
    </message>
    <message>
        <source>Filter: qkv, bf16, gradient …</source>
        <translation>Filter: qkv, bf16, gradient …</translation>
    </message>
    <message>
        <source>Tensors of the stage</source>
        <translation>Tensoren der Stufe</translation>
    </message>
    <message>
        <source>&amp;Ledger</source>
        <translation>&amp;Tensoren</translation>
    </message>
    <message>
        <source>&amp;Treemap</source>
        <translation>&amp;Kacheln</translation>
    </message>
    <message>
        <source>The simulated step appears here.</source>
        <translation>Hier erscheint der simulierte Schritt.</translation>
    </message>
    <message>
        <source>&amp;Over time</source>
        <translation>Über die &amp;Zeit</translation>
    </message>
    <message>
        <source>Stage %1: %2 on the device, %3 allocated, %4 reserved; peak in: %5; %6 layers</source>
        <translation>Stufe %1: %2 auf der GPU, %3 belegt, %4 reserviert; Spitze in: %5; %6 Schichten</translation>
    </message>
    <message>
        <source>shown</source>
        <translation>gezeigt</translation>
    </message>
    <message>
        <source>Not simulated: %1</source>
        <translation>Nicht simuliert: %1</translation>
    </message>
    <message>
        <source>Not simulated: cancelled.</source>
        <translation>Nicht simuliert: abgebrochen.</translation>
    </message>
    <message>
        <source>Simulating …</source>
        <translation>Wird simuliert …</translation>
    </message>
    <message>
        <source>Views of the stage</source>
        <translation>Ansichten der Stufe</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::MessageBar</name>
    <message>
        <source>Dismiss</source>
        <translation>Schließen</translation>
    </message>
</context>
<context>
    <name>Messages</name>
    <message>
        <source>got %1</source>
        <translation>erhalten %1</translation>
    </message>
    <message>
        <source>expected %1</source>
        <translation>erwartet %1</translation>
    </message>
    <message>
        <source>out of memory</source>
        <translation>kein Speicher mehr</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::NotesPage</name>
    <message>
        <source>What you want to remember of this project. It is saved with it.</source>
        <translation>Was von diesem Projekt in Erinnerung bleiben soll. Es wird mit ihm gespeichert.</translation>
    </message>
    <message>
        <source>Notes</source>
        <translation>Notizen</translation>
    </message>
    <message>
        <source>Why this layout, what was tried, what to ask …</source>
        <translation>Warum diese Aufteilung, was versucht wurde, was zu fragen ist …</translation>
    </message>
    <message>
        <source>Notes have at most %1 letters: nothing was added.</source>
        <translation>Notizen haben höchstens %1 Zeichen: Es kam nichts hinzu.</translation>
    </message>
</context>
<context>
    <name>Oracle</name>
    <message>
        <source>what</source>
        <translation>was</translation>
    </message>
    <message>
        <source>Totals of rank 0, live tensors by instant, what a layer keeps, collectives.</source>
        <translation>Summen von Rang 0, lebende Tensoren je Zeitpunkt, was eine Schicht behält, Kollektive.</translation>
    </message>
    <message>
        <source>predicted</source>
        <translation>vorhergesagt</translation>
    </message>
    <message>
        <source>By the cost model.</source>
        <translation>Vom Kostenmodell.</translation>
    </message>
    <message>
        <source>PyTorch</source>
        <translation>PyTorch</translation>
    </message>
    <message>
        <source>Seen in a step on tensors without data.</source>
        <translation>Gesehen in einem Schritt auf Tensoren ohne Daten.</translation>
    </message>
    <message>
        <source>difference</source>
        <translation>Differenz</translation>
    </message>
    <message>
        <source>Predicted less PyTorch&apos;s.</source>
        <translation>Vorhergesagt weniger PyTorchs.</translation>
    </message>
    <message>
        <source>share</source>
        <translation>Anteil</translation>
    </message>
    <message>
        <source>The difference as a share of PyTorch&apos;s.</source>
        <translation>Die Differenz als Anteil an PyTorchs.</translation>
    </message>
    <message>
        <source>differs</source>
        <translation>weicht ab</translation>
    </message>
    <message>
        <source>By more than it may.</source>
        <translation>Um mehr, als sie darf.</translation>
    </message>
    <message>
        <source>yes</source>
        <translation>ja</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::OracleDialog</name>
    <message>
        <source>Check against PyTorch</source>
        <translation>Gegen PyTorch prüfen</translation>
    </message>
    <message>
        <source>Runs one step of this question in your own PyTorch, without a GPU, and shows tensor by tensor where it differs from the prediction. Nothing is installed.</source>
        <translation>Führt einen Schritt dieser Frage im eigenen PyTorch aus, ohne GPU, und zeigt Tensor für Tensor, wo er von der Vorhersage abweicht. Es wird nichts installiert.</translation>
    </message>
    <message>
        <source>Prediction beside PyTorch</source>
        <translation>Vorhersage neben PyTorch</translation>
    </message>
    <message>
        <source>Python</source>
        <translation>Python</translation>
    </message>
    <message>
        <source>Python with torch, and with transformers for hf-eager</source>
        <translation>Python mit torch, für hf-eager auch mit transformers</translation>
    </message>
    <message>
        <source>&amp;Python</source>
        <translation>&amp;Python</translation>
    </message>
    <message>
        <source>&amp;Check</source>
        <translation>P&amp;rüfen</translation>
    </message>
    <message>
        <source>C&amp;ancel</source>
        <translation>&amp;Abbrechen</translation>
    </message>
    <message>
        <source>&amp;Keep as profile…</source>
        <translation>Als Profil &amp;behalten…</translation>
    </message>
    <message>
        <source>Cancelled.</source>
        <translation>Abgebrochen.</translation>
    </message>
    <message>
        <source>Choose a model and GPUs first.</source>
        <translation>Bitte zuerst ein Modell und GPUs wählen.</translation>
    </message>
    <message>
        <source>Python starts</source>
        <translation>Python startet</translation>
    </message>
    <message>
        <source>There is nothing that a profile could say.</source>
        <translation>Es gibt nichts, was ein Profil sagen könnte.</translation>
    </message>
    <message>
        <source>Saved: %1</source>
        <translation>Gespeichert: %1</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>Keep as a framework profile</source>
        <translation>Als Framework-Profil behalten</translation>
    </message>
    <message>
        <source>Framework profiles (*.json)</source>
        <translation>Framework-Profile (*.json)</translation>
    </message>
    <message>
        <source>A profile cannot inherit itself: choose another file.</source>
        <translation>Ein Profil kann nicht von sich selbst erben: bitte eine andere Datei wählen.</translation>
    </message>
</context>
<context>
    <name>Overlay</name>
    <message>
        <source>kernels</source>
        <translation>Kernel</translation>
    </message>
    <message>
        <source>messages</source>
        <translation>Nachrichten</translation>
    </message>
    <message>
        <source>copies</source>
        <translation>Kopien</translation>
    </message>
    <message>
        <source>kernel</source>
        <translation>Kernel</translation>
    </message>
    <message>
        <source>measured %1; not in the prediction</source>
        <translation>gemessen %1; nicht in der Vorhersage</translation>
    </message>
    <message>
        <source>predicted %1, measured %2: %3</source>
        <translation>vorhergesagt %1, gemessen %2: %3</translation>
    </message>
    <message>
        <source>from %1, for %2</source>
        <translation>ab %1, Dauer %2</translation>
    </message>
    <message>
        <source>micro-batch %1</source>
        <translation>Micro-Batch %1</translation>
    </message>
    <message>
        <source>not in the trace</source>
        <translation>nicht in der Aufzeichnung</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>predicted</source>
        <translation>vorhergesagt</translation>
    </message>
    <message>
        <source>predicted, data parallel</source>
        <translation>vorhergesagt, datenparallel</translation>
    </message>
    <message>
        <source>predicted, between stages</source>
        <translation>vorhergesagt, zwischen Stufen</translation>
    </message>
    <message>
        <source>stream %1</source>
        <translation>Stream %1</translation>
    </message>
    <message>
        <source>other streams</source>
        <translation>andere Streams</translation>
    </message>
    <message>
        <source>difference</source>
        <translation>Unterschied</translation>
    </message>
    <message>
        <source>products</source>
        <translation>Matrixprodukte</translation>
    </message>
    <message>
        <source>attention</source>
        <translation>Attention</translation>
    </message>
    <message>
        <source>memory-bound</source>
        <translation>speichergebunden</translation>
    </message>
    <message>
        <source>optimizer</source>
        <translation>Optimierer</translation>
    </message>
    <message>
        <source>tensor parallel</source>
        <translation>tensorparallel</translation>
    </message>
    <message>
        <source>context parallel</source>
        <translation>kontextparallel</translation>
    </message>
    <message>
        <source>expert parallel</source>
        <translation>expertenparallel</translation>
    </message>
    <message>
        <source>between stages</source>
        <translation>zwischen Stufen</translation>
    </message>
    <message>
        <source>data parallel</source>
        <translation>datenparallel</translation>
    </message>
    <message>
        <source>other messages</source>
        <translation>andere Nachrichten</translation>
    </message>
    <message>
        <source>slower than predicted</source>
        <translation>langsamer als vorhergesagt</translation>
    </message>
    <message>
        <source>faster than predicted</source>
        <translation>schneller als vorhergesagt</translation>
    </message>
    <message>
        <source>within 10 %</source>
        <translation>innerhalb von 10 %</translation>
    </message>
    <message>
        <source>not in the prediction</source>
        <translation>nicht in der Vorhersage</translation>
    </message>
    <message>
        <source>A measured step of %1 over a predicted one of %2.</source>
        <translation>Ein gemessener Schritt von %1 über einem vorhergesagten von %2.</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::PlanTableModel</name>
    <message>
        <source>%1
%2: %3 faster than with equal stages</source>
        <translation>%1
%2: %3 schneller als mit gleichen Stufen</translation>
    </message>
</context>
<context>
    <name>Plans</name>
    <message>
        <source>#</source>
        <translation>Nr.</translation>
    </message>
    <message>
        <source>Place in the ranking.</source>
        <translation>Platz in der Rangliste.</translation>
    </message>
    <message>
        <source>layout</source>
        <translation>Aufteilung</translation>
    </message>
    <message>
        <source>As the command line reads it.</source>
        <translation>Wie die Kommandozeile es liest.</translation>
    </message>
    <message>
        <source>step time</source>
        <translation>Schrittzeit</translation>
    </message>
    <message>
        <source>peak memory</source>
        <translation>Speicherspitze</translation>
    </message>
    <message>
        <source>Of the fullest GPU.</source>
        <translation>Der vollsten GPU.</translation>
    </message>
    <message>
        <source>to spare</source>
        <translation>frei</translation>
    </message>
    <message>
        <source>Usable memory left on the fullest GPU.</source>
        <translation>Nutzbarer Speicher, der auf der vollsten GPU übrig bleibt.</translation>
    </message>
    <message>
        <source>tokens/s/GPU</source>
        <translation>Tokens/s/GPU</translation>
    </message>
    <message>
        <source>Tokens per second and GPU.</source>
        <translation>Tokens je Sekunde und GPU.</translation>
    </message>
    <message>
        <source>MFU</source>
        <translation>MFU</translation>
    </message>
    <message>
        <source>Model FLOPs over the dense peak; causal attention halved.</source>
        <translation>FLOPs des Modells über der dichten Spitzenleistung; kausale Attention halbiert.</translation>
    </message>
    <message>
        <source>GPUs</source>
        <translation>GPUs</translation>
    </message>
    <message>
        <source>That the plan uses.</source>
        <translation>Die der Plan benutzt.</translation>
    </message>
    <message>
        <source>micro-batch</source>
        <translation>Mikrostapel</translation>
    </message>
    <message>
        <source>Sequences per pass and replica.</source>
        <translation>Sequenzen je Durchlauf und Replik.</translation>
    </message>
    <message>
        <source>recompute</source>
        <translation>Neuberechnung</translation>
    </message>
    <message>
        <source>What backward runs again to save memory.</source>
        <translation>Was der Rückwärtslauf wiederholt, um Speicher zu sparen.</translation>
    </message>
    <message>
        <source>cost per step</source>
        <translation>Kosten je Schritt</translation>
    </message>
    <message>
        <source>All GPUs together; empty where the GPU has no price.</source>
        <translation>Alle GPUs zusammen; leer, wo die GPU keinen Preis hat.</translation>
    </message>
    <message>
        <source>uneven gain</source>
        <translation>Gewinn, ungleich</translation>
    </message>
    <message>
        <source>What the best uneven split of layers saves per step.</source>
        <translation>Was die beste ungleiche Verteilung der Schichten je Schritt spart.</translation>
    </message>
    <message>
        <source>DP</source>
        <translation>DP</translation>
    </message>
    <message>
        <source>Data-parallel replicas.</source>
        <translation>Datenparallele Repliken.</translation>
    </message>
    <message>
        <source>TP</source>
        <translation>TP</translation>
    </message>
    <message>
        <source>Ranks that share each layer&apos;s matrices.</source>
        <translation>Ränge, die sich die Matrizen jeder Schicht teilen.</translation>
    </message>
    <message>
        <source>CP</source>
        <translation>CP</translation>
    </message>
    <message>
        <source>Ranks that share each sequence.</source>
        <translation>Ränge, die sich jede Sequenz teilen.</translation>
    </message>
    <message>
        <source>PP</source>
        <translation>PP</translation>
    </message>
    <message>
        <source>Pipeline stages.</source>
        <translation>Pipelinestufen.</translation>
    </message>
    <message>
        <source>VPP</source>
        <translation>VPP</translation>
    </message>
    <message>
        <source>Model chunks per stage.</source>
        <translation>Modellabschnitte je Stufe.</translation>
    </message>
    <message>
        <source>EP</source>
        <translation>EP</translation>
    </message>
    <message>
        <source>Ranks that share the experts.</source>
        <translation>Ränge, die sich die Experten teilen.</translation>
    </message>
    <message>
        <source>ZeRO</source>
        <translation>ZeRO</translation>
    </message>
    <message>
        <source>What data-parallel ranks shard: 1 optimizer states, 2 gradients too, 3 all.</source>
        <translation>Was datenparallele Ränge aufteilen: 1 Optimiererzustände, 2 auch Gradienten, 3 alles.</translation>
    </message>
    <message>
        <source>schedule</source>
        <translation>Ablauf</translation>
    </message>
    <message>
        <source>Order of micro-batches in the pipeline.</source>
        <translation>Reihenfolge der Mikrobatches in der Pipeline.</translation>
    </message>
    <message>
        <source>risk</source>
        <translation>Risiko</translation>
    </message>
    <message>
        <source>Chance of running out of memory. Formula T9.</source>
        <translation>Wahrscheinlichkeit, dass der Speicher nicht reicht. Formel T9.</translation>
    </message>
    <message>
        <source>Of one optimizer step: by discrete events where the plan was simulated, else in closed form.</source>
        <translation>Eines Optimiererschritts: mit diskreten Ereignissen, wo der Plan simuliert wurde, sonst in geschlossener Form.</translation>
    </message>
    <message>
        <source>closed form</source>
        <translation>geschlossene Form</translation>
    </message>
    <message>
        <source>Step time in closed form: what the window says of the plan once it is loaded, and where the chart has it.</source>
        <translation>Schrittzeit in geschlossener Form: was das Fenster über den geladenen Plan sagt und wo ihn das Diagramm zeigt.</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::PlotView</name>
    <message>
        <source>Nothing to show yet</source>
        <translation>Noch nichts zu zeigen</translation>
    </message>
    <message>
        <source>%1: charts are written as .png, .svg or .pdf</source>
        <translation>%1: Diagramme werden als .png, .svg oder .pdf geschrieben</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>Export chart</source>
        <translation>Diagramm exportieren</translation>
    </message>
    <message>
        <source>Vector graphics (*.svg);;Image (*.png);;Document (*.pdf)</source>
        <translation>Vektorgrafik (*.svg);;Bild (*.png);;Dokument (*.pdf)</translation>
    </message>
    <message>
        <source>&amp;Export chart…</source>
        <translation>Diagramm &amp;exportieren…</translation>
    </message>
    <message>
        <source>Copy as &amp;image</source>
        <translation>Als &amp;Bild kopieren</translation>
    </message>
    <message>
        <source>Copy as &amp;text</source>
        <translation>Als &amp;Text kopieren</translation>
    </message>
</context>
<context>
    <name>Project</name>
    <message>
        <source>baseline</source>
        <translation>Grundlinie</translation>
    </message>
</context>
<context>
    <name>Recovery</name>
    <message>
        <source>%1 cannot be written: %2</source>
        <translation>%1 kann nicht geschrieben werden: %2</translation>
    </message>
    <message>
        <source>no lock file</source>
        <translation>keine Sperrdatei</translation>
    </message>
</context>
<context>
    <name>Rejections</name>
    <message>
        <source>candidates</source>
        <translation>Kandidaten</translation>
    </message>
    <message>
        <source>That this rule was the first to reject.</source>
        <translation>Die diese Regel als erste abgelehnt hat.</translation>
    </message>
    <message>
        <source>rule</source>
        <translation>Regel</translation>
    </message>
    <message>
        <source>Its stable name.</source>
        <translation>Ihr fester Name.</translation>
    </message>
    <message>
        <source>reason, for example</source>
        <translation>Grund, zum Beispiel</translation>
    </message>
    <message>
        <source>Why one of them was rejected.</source>
        <translation>Warum einer davon abgelehnt wurde.</translation>
    </message>
    <message>
        <source>what would pass</source>
        <translation>was ginge</translation>
    </message>
    <message>
        <source>Advice for that one.</source>
        <translation>Rat für diesen.</translation>
    </message>
    <message>
        <source>nearest layouts that pass</source>
        <translation>nächste Aufteilungen, die gehen</translation>
    </message>
    <message>
        <source>Next to the example, along the axis that the rule speaks of.</source>
        <translation>Neben dem Beispiel, entlang der Achse, von der die Regel spricht.</translation>
    </message>
</context>
<context>
    <name>Report</name>
    <message>
        <source>term</source>
        <translation>Teil</translation>
    </message>
    <message>
        <source>What was predicted and measured.</source>
        <translation>Was vorhergesagt und gemessen wurde.</translation>
    </message>
    <message>
        <source>predicted</source>
        <translation>vorhergesagt</translation>
    </message>
    <message>
        <source>By the cost model.</source>
        <translation>Vom Kostenmodell.</translation>
    </message>
    <message>
        <source>measured</source>
        <translation>gemessen</translation>
    </message>
    <message>
        <source>In the run; empty: not measured.</source>
        <translation>Im Lauf; leer: nicht gemessen.</translation>
    </message>
    <message>
        <source>difference</source>
        <translation>Differenz</translation>
    </message>
    <message>
        <source>Predicted minus measured.</source>
        <translation>Vorhergesagt minus gemessen.</translation>
    </message>
    <message>
        <source>error</source>
        <translation>Fehler</translation>
    </message>
    <message>
        <source>Predicted over measured, minus 1.</source>
        <translation>Vorhergesagt durch gemessen, minus 1.</translation>
    </message>
    <message>
        <source>part</source>
        <translation>Teil</translation>
    </message>
    <message>
        <source>Scenario, or kind of figure.</source>
        <translation>Szenario oder Art der Größe.</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::ReportModel</name>
    <message>
        <source>one step</source>
        <translation>ein Schritt</translation>
    </message>
    <message>
        <source>allocated, rank %1</source>
        <translation>belegt, Rang %1</translation>
    </message>
    <message>
        <source>memory allocated</source>
        <translation>Speicher belegt</translation>
    </message>
    <message>
        <source>memory reserved</source>
        <translation>Speicher reserviert</translation>
    </message>
    <message>
        <source>memory on the device</source>
        <translation>Speicher auf dem Gerät</translation>
    </message>
    <message>
        <source>time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>phase</source>
        <translation>Phase</translation>
    </message>
    <message>
        <source>work</source>
        <translation>Arbeit</translation>
    </message>
    <message>
        <source>messages</source>
        <translation>Nachrichten</translation>
    </message>
    <message>
        <source>all ranks</source>
        <translation>alle Ränge</translation>
    </message>
    <message>
        <source>%1, rank %2</source>
        <translation>%1, Rang %2</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::ResidualPlot</name>
    <message>
        <source>Predicted against measured</source>
        <translation>Vorhergesagt gegen gemessen</translation>
    </message>
    <message>
        <source>Each point is a prediction over its measurement; on the diagonal they agree. Left and right go through the points, the worst first.</source>
        <translation>Jeder Punkt ist eine Vorhersage über ihrer Messung; auf der Diagonale stimmen sie überein. Links und rechts gehen durch die Punkte, die schlechtesten zuerst.</translation>
    </message>
    <message>
        <source>
predicted %1, measured %2 (%3)</source>
        <translation>
vorhergesagt %1, gemessen %2 (%3)</translation>
    </message>
    <message numerus="yes">
        <source>%n prediction(s) beside their measurements, %1 of them within %2.</source>
        <translation>
            <numerusform>%n Vorhersage neben ihrer Messung, %1 davon innerhalb von %2.</numerusform>
            <numerusform>%n Vorhersagen neben ihren Messungen, %1 davon innerhalb von %2.</numerusform>
        </translation>
    </message>
    <message>
        <source>measured</source>
        <translation>gemessen</translation>
    </message>
    <message>
        <source>predicted</source>
        <translation>vorhergesagt</translation>
    </message>
</context>
<context>
    <name>Run</name>
    <message>
        <source>phase</source>
        <translation>Phase</translation>
    </message>
    <message>
        <source>What a rank did.</source>
        <translation>Was ein Rang tat.</translation>
    </message>
    <message>
        <source>mean</source>
        <translation>Mittel</translation>
    </message>
    <message>
        <source>Over ranks, all steps together.</source>
        <translation>Über Ränge, alle Schritte zusammen.</translation>
    </message>
    <message>
        <source>slowest rank</source>
        <translation>langsamster Rang</translation>
    </message>
    <message>
        <source>All steps together.</source>
        <translation>Alle Schritte zusammen.</translation>
    </message>
    <message>
        <source>share</source>
        <translation>Anteil</translation>
    </message>
    <message>
        <source>Of the mean over all phases.</source>
        <translation>Des Mittels über alle Phasen.</translation>
    </message>
    <message>
        <source>collective</source>
        <translation>Kollektiv</translation>
    </message>
    <message>
        <source>What was called.</source>
        <translation>Was aufgerufen wurde.</translation>
    </message>
    <message>
        <source>group</source>
        <translation>Gruppe</translation>
    </message>
    <message>
        <source>Ranks that took part.</source>
        <translation>Ränge, die teilnahmen.</translation>
    </message>
    <message>
        <source>messages</source>
        <translation>Nachrichten</translation>
    </message>
    <message>
        <source>Of the busiest rank, all steps.</source>
        <translation>Des meistbeschäftigten Rangs, alle Schritte.</translation>
    </message>
    <message>
        <source>bytes</source>
        <translation>Bytes</translation>
    </message>
    <message>
        <source>Of the full tensors; busiest rank, all steps.</source>
        <translation>Der ganzen Tensoren; meistbeschäftigter Rang, alle Schritte.</translation>
    </message>
    <message>
        <source>time</source>
        <translation>Zeit</translation>
    </message>
    <message>
        <source>Inside the calls, waiting for others included.</source>
        <translation>In den Aufrufen, Warten auf andere eingeschlossen.</translation>
    </message>
    <message>
        <source>operation</source>
        <translation>Operation</translation>
    </message>
    <message>
        <source>Matrix products and attention, as the operation list names them.</source>
        <translation>Matrixprodukte und Attention, wie die Operationsliste sie nennt.</translation>
    </message>
    <message>
        <source>TFLOPs</source>
        <translation>TFLOPs</translation>
    </message>
    <message>
        <source>10¹² operations, all ranks and timed steps.</source>
        <translation>10¹² Operationen, alle Ränge und gemessenen Schritte.</translation>
    </message>
    <message>
        <source>All ranks and timed steps.</source>
        <translation>Alle Ränge und gemessenen Schritte.</translation>
    </message>
    <message>
        <source>TFLOP/s</source>
        <translation>TFLOP/s</translation>
    </message>
    <message>
        <source>Rate of one rank.</source>
        <translation>Rate eines Rangs.</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::ScatterPlot</name>
    <message>
        <source>Plans by time and memory</source>
        <translation>Pläne nach Zeit und Speicher</translation>
    </message>
    <message>
        <source>Every plan as a point; those that no other beats are joined. Left and right go from point to point, Enter loads one.</source>
        <translation>Jeder Plan als Punkt; die, die kein anderer schlägt, sind verbunden. Links und rechts gehen von Punkt zu Punkt, Eingabe lädt einen.</translation>
    </message>
    <message>
        <source>
%1: %2</source>
        <translation>
%1: %2</translation>
    </message>
    <message>
        <source>no other plan is better in both</source>
        <translation>kein anderer Plan ist in beidem besser</translation>
    </message>
    <message numerus="yes">
        <source>%n plan(s).</source>
        <translation>
            <numerusform>%n Plan.</numerusform>
            <numerusform>%n Pläne.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::ScenarioDocument</name>
    <message>
        <source>Recovered</source>
        <translation>Wiederhergestellt</translation>
    </message>
    <message>
        <source>Keep the global batch</source>
        <translation>Globalen Batch behalten</translation>
    </message>
    <message>
        <source>Baseline</source>
        <translation>Grundlinie</translation>
    </message>
    <message>
        <source>No baseline</source>
        <translation>Keine Grundlinie</translation>
    </message>
    <message>
        <source>Pin</source>
        <translation>Zustand merken</translation>
    </message>
    <message>
        <source>Remove a pin</source>
        <translation>Zustand entfernen</translation>
    </message>
    <message>
        <source>Remove all pins</source>
        <translation>Alle Zustände entfernen</translation>
    </message>
    <message>
        <source>sequence %1 · batch %2 of %3</source>
        <translation>Sequenz %1 · Batch %2 von %3</translation>
    </message>
    <message>
        <source>recompute %1</source>
        <translation>Neuberechnung %1</translation>
    </message>
    <message>
        <source>Notes</source>
        <translation>Notizen</translation>
    </message>
    <message>
        <source>Reloaded</source>
        <translation>Neu geladen</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::SearchPage</name>
    <message>
        <source>shortest step</source>
        <translation>kürzester Schritt</translation>
    </message>
    <message>
        <source>most tokens/s per GPU</source>
        <translation>meiste Tokens/s je GPU</translation>
    </message>
    <message>
        <source>lowest cost per token</source>
        <translation>niedrigste Kosten je Token</translation>
    </message>
    <message>
        <source>most free memory</source>
        <translation>meister freier Speicher</translation>
    </message>
    <message>
        <source>What to look for</source>
        <translation>Wonach gesucht wird</translation>
    </message>
    <message>
        <source>Memory a plan may take</source>
        <translation>Speicher, den ein Plan belegen darf</translation>
    </message>
    <message>
        <source>keep micro-batch</source>
        <translation>Mikrostapel fest</translation>
    </message>
    <message>
        <source>keep recompute</source>
        <translation>Neuberechnung fest</translation>
    </message>
    <message>
        <source>&amp;Search</source>
        <translation>&amp;Suchen</translation>
    </message>
    <message>
        <source>C&amp;ancel</source>
        <translation>&amp;Abbrechen</translation>
    </message>
    <message>
        <source>Look for</source>
        <translation>Gesucht:</translation>
    </message>
    <message>
        <source>Progress of the search</source>
        <translation>Fortschritt der Suche</translation>
    </message>
    <message>
        <source>Every layout of these GPUs is looked at; the window stays usable meanwhile.</source>
        <translation>Jede Aufteilung dieser GPUs wird angesehen; das Fenster bleibt dabei benutzbar.</translation>
    </message>
    <message>
        <source>Filter plans</source>
        <translation>Pläne filtern</translation>
    </message>
    <message>
        <source>Filter: tp8, full, interleaved …</source>
        <translation>Filter: tp8, full, interleaved …</translation>
    </message>
    <message>
        <source>Plans</source>
        <translation>Pläne</translation>
    </message>
    <message>
        <source>Double-click or Enter loads a plan; the header&apos;s menu shows more columns</source>
        <translation>Doppelklick oder Eingabe lädt einen Plan; das Menü der Kopfzeile zeigt mehr Spalten</translation>
    </message>
    <message>
        <source>Plans that no other beats in both step time and memory appear here; a click loads one.</source>
        <translation>Hier erscheinen Pläne, die kein anderer in Schrittzeit und Speicher zugleich übertrifft; ein Klick lädt einen.</translation>
    </message>
    <message>
        <source>Rejections by rule</source>
        <translation>Ablehnungen nach Regel</translation>
    </message>
    <message>
        <source>%1 layouts priced …</source>
        <translation>%1 Aufteilungen berechnet …</translation>
    </message>
    <message>
        <source>Cancelled: </source>
        <translation>Abgebrochen: </translation>
    </message>
    <message>
        <source>peak memory per GPU</source>
        <translation>Speicherspitze je GPU</translation>
    </message>
    <message>
        <source>MFU</source>
        <translation>MFU</translation>
    </message>
    <message>
        <source>usable memory</source>
        <translation>nutzbarer Speicher</translation>
    </message>
    <message>
        <source>Plan %1</source>
        <translation>Plan %1</translation>
    </message>
    <message>
        <source>Highest chance of running out of memory</source>
        <translation>Höchstes Überlaufrisiko</translation>
    </message>
    <message>
        <source>Highest chance of running out of memory that a plan may have</source>
        <translation>Höchste Wahrscheinlichkeit, mit der der Speicher eines Plans nicht reichen darf</translation>
    </message>
    <message>
        <source>any</source>
        <translation>beliebig</translation>
    </message>
    <message>
        <source>≤ %1 %</source>
        <translation>≤ %1 %</translation>
    </message>
    <message>
        <source>Share of the usable memory that a plan may take as predicted</source>
        <translation>Anteil des nutzbaren Speichers, den ein Plan der Vorhersage nach belegen darf</translation>
    </message>
    <message>
        <source>risk</source>
        <translation>Risiko</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>Search again</source>
        <translation>Neu suchen</translation>
    </message>
    <message>
        <source>, risk ≤ %1</source>
        <translation>, Risiko ≤ %1</translation>
    </message>
    <message>
        <source>The search broke off: %1.</source>
        <translation>Die Suche brach ab: %1.</translation>
    </message>
    <message>
        <source>None keeps the risk; with %1 there is one of %2 per step.</source>
        <translation>Keiner hält das Risiko ein; mit %1 gibt es einen von %2 je Schritt.</translation>
    </message>
    <message>
        <source>These plans answer the question above, not the present one. Loading one brings it back.</source>
        <translation>Diese Pläne beantworten die Frage darüber, nicht die jetzige. Wer einen lädt, holt sie zurück.</translation>
    </message>
    <message>
        <source>Heat map</source>
        <translation>Wärmekarte</translation>
    </message>
    <message>
        <source>%1%2 candidates: %3 break a rule, %4 could not be among the best, %5 priced (%6 of them keep every limit).</source>
        <translation>%1%2 Kandidaten: %3 brechen eine Regel, %4 konnten nicht unter den besten sein, %5 berechnet (%6 davon halten alle Grenzen ein).</translation>
    </message>
    <message>
        <source>Step times of the table are simulated; the chart and the tile above have the closed form.</source>
        <translation>Schrittzeiten der Tabelle sind simuliert; Diagramm und Anzeige oben haben die geschlossene Form.</translation>
    </message>
    <message>
        <source>step time, closed form</source>
        <translation>Schrittzeit, geschlossene Form</translation>
    </message>
    <message>
        <source>tokens/s per GPU</source>
        <translation>Tokens/s je GPU</translation>
    </message>
    <message>
        <source>What the colours of the chart tell</source>
        <translation>Was die Farben des Diagramms sagen</translation>
    </message>
    <message>
        <source>Colour</source>
        <translation>Farbe</translation>
    </message>
    <message>
        <source>the present plan: %1</source>
        <translation>der jetzige Plan: %1</translation>
    </message>
    <message>
        <source>Other machines</source>
        <translation>Andere Rechner</translation>
    </message>
    <message>
        <source>Limits in the words of the command</source>
        <translation>Grenzen in den Worten des Befehls</translation>
    </message>
    <message>
        <source>Limits in words: tp=8 cp=1,2 max-hours=72 …</source>
        <translation>Grenzen in Worten: tp=8 cp=1,2 max-hours=72 …</translation>
    </message>
    <message>
        <source>Not searched: %1</source>
        <translation>Nicht gesucht: %1</translation>
    </message>
    <message>
        <source>Search that is shown</source>
        <translation>Gezeigte Suche</translation>
    </message>
    <message>
        <source>Forget it</source>
        <translation>Vergessen</translation>
    </message>
    <message>
        <source>Forget the search that is shown</source>
        <translation>Die gezeigte Suche vergessen</translation>
    </message>
    <message>
        <source>The file has these plans as an earlier version priced them; this one prices them otherwise.</source>
        <translation>Die Datei hat diese Pläne, wie eine frühere Version sie berechnet hat; diese berechnet sie anders.</translation>
    </message>
    <message>
        <source>Parts of the search</source>
        <translation>Teile der Suche</translation>
    </message>
    <message>
        <source>What the search found</source>
        <translation>Was die Suche fand</translation>
    </message>
    <message>
        <source>, memory ≤ %1</source>
        <translation>, Speicher ≤ %1</translation>
    </message>
    <message>
        <source>; %1 on %2 × %3, sequence %4, global batch %5</source>
        <translation>; %1 auf %2 × %3, Sequenz %4, globaler Batch %5</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::SetupPanel</name>
    <message>
        <source>Setup</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>A Hugging Face config.json as downloaded; it can also be dropped onto the window</source>
        <translation>Eine config.json von Hugging Face, wie heruntergeladen; sie kann auch auf das Fenster gezogen werden</translation>
    </message>
    <message>
        <source>More</source>
        <translation>Mehr</translation>
    </message>
    <message>
        <source>More fields: %1</source>
        <translation>Mehr Felder: %1</translation>
    </message>
    <message>
        <source>Open config.json…</source>
        <translation>config.json öffnen…</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::ShiftBars</name>
    <message>
        <source>What other machines would bring</source>
        <translation>Was andere Rechner brächten</translation>
    </message>
    <message>
        <source>What every change of the machines brings. Up and down go from change to change.</source>
        <translation>Was jede Änderung der Rechner bringt. Auf und ab gehen von Änderung zu Änderung.</translation>
    </message>
    <message>
        <source>%1 %2</source>
        <translation>%1 %2</translation>
    </message>
</context>
<context>
    <name>SpanKind</name>
    <message>
        <source>forward</source>
        <translation>vorwärts</translation>
    </message>
    <message>
        <source>backward</source>
        <translation>rückwärts</translation>
    </message>
    <message>
        <source>backward, inputs</source>
        <translation>rückwärts, Eingaben</translation>
    </message>
    <message>
        <source>backward, weights</source>
        <translation>rückwärts, Gewichte</translation>
    </message>
    <message>
        <source>recomputation</source>
        <translation>Neuberechnung</translation>
    </message>
    <message>
        <source>collectives of layers</source>
        <translation>Kollektive der Schichten</translation>
    </message>
    <message>
        <source>activations sent</source>
        <translation>Aktivierungen gesendet</translation>
    </message>
    <message>
        <source>gradients sent</source>
        <translation>Gradienten gesendet</translation>
    </message>
    <message>
        <source>gradient reduction</source>
        <translation>Gradientensumme</translation>
    </message>
    <message>
        <source>parameter gathering</source>
        <translation>Parameter einsammeln</translation>
    </message>
    <message>
        <source>optimizer</source>
        <translation>Optimierer</translation>
    </message>
    <message>
        <source>host</source>
        <translation>Rechner</translation>
    </message>
    <message>
        <source>outer gradients</source>
        <translation>äußere Gradienten</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::StageMemoryBars</name>
    <message>
        <source>Memory per pipeline stage</source>
        <translation>Speicher je Pipelinestufe</translation>
    </message>
    <message>
        <source>Memory of one GPU of every pipeline stage, by kind. Left and right go from stage to stage, Enter selects one.</source>
        <translation>Speicher einer GPU jeder Pipelinestufe, nach Art. Links und rechts gehen von Stufe zu Stufe, Eingabe wählt eine.</translation>
    </message>
    <message>
        <source>Stage %1: %2</source>
        <translation>Stufe %1: %2</translation>
    </message>
    <message>
        <source>fits, %1 to spare of %2</source>
        <translation>passt, %1 frei von %2</translation>
    </message>
    <message>
        <source>does not fit: %1 over %2</source>
        <translation>passt nicht: %1 über %2</translation>
    </message>
    <message>
        <source>
%1: %2</source>
        <translation>
%1: %2</translation>
    </message>
    <message>
        <source>
90 % interval: %1 to %2</source>
        <translation>
90-%-Intervall: %1 bis %2</translation>
    </message>
    <message>
        <source>
baseline: %1 (%2)</source>
        <translation>
Basis: %1 (%2)</translation>
    </message>
    <message numerus="yes">
        <source>Memory per GPU of %n pipeline stage(s).</source>
        <translation>
            <numerusform>Speicher je GPU von %n Pipelinestufe.</numerusform>
            <numerusform>Speicher je GPU von %n Pipelinestufen.</numerusform>
        </translation>
    </message>
    <message>
        <source> All fit.</source>
        <translation> Alle passen.</translation>
    </message>
    <message numerus="yes">
        <source> %n do(es) not fit.</source>
        <translation>
            <numerusform> %n passt nicht.</numerusform>
            <numerusform> %n passen nicht.</numerusform>
        </translation>
    </message>
    <message>
        <source>%1  %2</source>
        <translation>%1  %2</translation>
    </message>
    <message>
        <source>stage %1</source>
        <translation>Stufe %1</translation>
    </message>
    <message>
        <source>device %1</source>
        <translation>Gerät %1</translation>
    </message>
    <message>
        <source>usable %1</source>
        <translation>nutzbar %1</translation>
    </message>
    <message>
        <source>memory per GPU</source>
        <translation>Speicher je GPU</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::StartPage</name>
    <message>
        <source>Does it fit, how fast is it, which layout is best?</source>
        <translation>Passt es, wie schnell ist es, welche Aufteilung ist die beste?</translation>
    </message>
    <message>
        <source>Open a config.json…</source>
        <translation>Eine config.json öffnen…</translation>
    </message>
    <message>
        <source>Open a scenario…</source>
        <translation>Ein Szenario öffnen…</translation>
    </message>
    <message>
        <source>Show an example</source>
        <translation>Ein Beispiel zeigen</translation>
    </message>
    <message>
        <source>Model: %1. On which GPUs? Choose here, or any type and number at the left.</source>
        <translation>Modell: %1. Auf welchen GPUs? Hier wählen, oder links jeden Typ und jede Zahl.</translation>
    </message>
    <message>
        <source>Choose a model at the left, open the config.json of one (or drop it here), or begin with an example.</source>
        <translation>Links ein Modell wählen, die config.json eines Modells öffnen (oder hier ablegen) oder mit einem Beispiel beginnen.</translation>
    </message>
</context>
<context>
    <name>Stream</name>
    <message>
        <source>compute</source>
        <translation>Rechnen</translation>
    </message>
    <message>
        <source>layers&apos; comm.</source>
        <translation>Schichtkomm.</translation>
    </message>
    <message>
        <source>messages</source>
        <translation>Nachrichten</translation>
    </message>
    <message>
        <source>data parallel</source>
        <translation>datenparallel</translation>
    </message>
</context>
<context>
    <name>Sweep</name>
    <message>
        <source>first</source>
        <translation>erste</translation>
    </message>
    <message>
        <source>Value of the axis.</source>
        <translation>Wert der Achse.</translation>
    </message>
    <message>
        <source>second</source>
        <translation>zweite</translation>
    </message>
    <message>
        <source>best plan</source>
        <translation>bester Plan</translation>
    </message>
    <message>
        <source>What the search lists first.</source>
        <translation>Was die Suche zuerst nennt.</translation>
    </message>
    <message>
        <source>micro-batch</source>
        <translation>Micro-Batch</translation>
    </message>
    <message>
        <source>Sequences at once.</source>
        <translation>Sequenzen auf einmal.</translation>
    </message>
    <message>
        <source>recompute</source>
        <translation>Neuberechnung</translation>
    </message>
    <message>
        <source>What backward runs again.</source>
        <translation>Was backward noch einmal rechnet.</translation>
    </message>
    <message>
        <source>step time</source>
        <translation>Schrittzeit</translation>
    </message>
    <message>
        <source>Of one optimizer step.</source>
        <translation>Eines Optimierer-Schritts.</translation>
    </message>
    <message>
        <source>tokens/s/GPU</source>
        <translation>Token/s/GPU</translation>
    </message>
    <message>
        <source>Throughput per GPU.</source>
        <translation>Durchsatz je GPU.</translation>
    </message>
    <message>
        <source>MFU</source>
        <translation>MFU</translation>
    </message>
    <message>
        <source>Model FLOPs over the peak.</source>
        <translation>Modell-FLOPs durch die Spitzenleistung.</translation>
    </message>
    <message>
        <source>free memory</source>
        <translation>freier Speicher</translation>
    </message>
    <message>
        <source>Of the fullest stage&apos;s GPU.</source>
        <translation>Der GPU der vollsten Stufe.</translation>
    </message>
    <message>
        <source>risk</source>
        <translation>Risiko</translation>
    </message>
    <message>
        <source>Chance of running out of memory.</source>
        <translation>Wahrscheinlichkeit, dass der Speicher nicht reicht.</translation>
    </message>
    <message>
        <source>cost per million tokens</source>
        <translation>Kosten je Million Token</translation>
    </message>
    <message>
        <source>At the price of the GPUs.</source>
        <translation>Zum Preis der GPUs.</translation>
    </message>
    <message>
        <source>nothing because</source>
        <translation>nichts, weil</translation>
    </message>
    <message>
        <source>The limit that no plan keeps.</source>
        <translation>Die Grenze, die kein Plan einhält.</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::SweepPanel</name>
    <message>
        <source>tokens/s per GPU</source>
        <translation>Token/s je GPU</translation>
    </message>
    <message>
        <source>step time</source>
        <translation>Schrittzeit</translation>
    </message>
    <message>
        <source>MFU</source>
        <translation>MFU</translation>
    </message>
    <message>
        <source>free memory per GPU</source>
        <translation>freier Speicher je GPU</translation>
    </message>
    <message>
        <source>cost per million tokens</source>
        <translation>Kosten je Million Token</translation>
    </message>
    <message>
        <source>The best plan for every pair of values of two fields appears here; a click loads one.</source>
        <translation>Hier erscheint der beste Plan für jedes Wertepaar zweier Felder; ein Klick lädt einen.</translation>
    </message>
    <message>
        <source>Best plan of each pair of values</source>
        <translation>Bester Plan jedes Wertepaars</translation>
    </message>
    <message>
        <source>Field of the rows</source>
        <translation>Feld der Zeilen</translation>
    </message>
    <message>
        <source>Field of the columns</source>
        <translation>Feld der Spalten</translation>
    </message>
    <message>
        <source>Values of the rows</source>
        <translation>Werte der Zeilen</translation>
    </message>
    <message>
        <source>Values of the columns</source>
        <translation>Werte der Spalten</translation>
    </message>
    <message>
        <source>Values between commas; a range such as 64..512 doubles from one to the next</source>
        <translation>Werte mit Kommas dazwischen; ein Bereich wie 64..512 verdoppelt von einem zum nächsten</translation>
    </message>
    <message>
        <source>What the colours say</source>
        <translation>Was die Farben sagen</translation>
    </message>
    <message>
        <source>Search every pair</source>
        <translation>Jedes Paar suchen</translation>
    </message>
    <message>
        <source>Cancel the sweep</source>
        <translation>Suche über alle Paare abbrechen</translation>
    </message>
    <message>
        <source>Progress of the sweep</source>
        <translation>Fortschritt der Suche über alle Paare</translation>
    </message>
    <message>
        <source>Not searched: %1</source>
        <translation>Nicht gesucht: %1</translation>
    </message>
    <message>
        <source>Not searched: choose two different fields.</source>
        <translation>Nicht gesucht: zwei verschiedene Felder wählen.</translation>
    </message>
    <message>
        <source>Not searched: %1 pairs; there may be 1 to %2.</source>
        <translation>Nicht gesucht: %1 Paare; es dürfen 1 bis %2 sein.</translation>
    </message>
    <message>
        <source>Searching %1 pairs …</source>
        <translation>Suche %1 Paare …</translation>
    </message>
    <message>
        <source>The sweep broke off: %1.</source>
        <translation>Die Suche über alle Paare brach ab: %1.</translation>
    </message>
    <message>
        <source>%1%2 of %3 pairs have a plan.</source>
        <translation>%1%2 von %3 Paaren haben einen Plan.</translation>
    </message>
    <message>
        <source>Cancelled: </source>
        <translation>Abgebrochen: </translation>
    </message>
    <message>
        <source>They are of another model than the present one; loading one brings it back.</source>
        <translation>Sie gehören zu einem anderen Modell als dem jetzigen; einen zu laden bringt es zurück.</translation>
    </message>
    <message>
        <source>no plan</source>
        <translation>kein Plan</translation>
    </message>
    <message>
        <source>step %1, MFU %2, risk %3</source>
        <translation>Schritt %1, MFU %2, Risiko %3</translation>
    </message>
    <message>
        <source>Nothing to load there: %1</source>
        <translation>Dort ist nichts zu laden: %1</translation>
    </message>
    <message>
        <source>Plan %1</source>
        <translation>Plan %1</translation>
    </message>
</context>
<context>
    <name>TableTools</name>
    <message>
        <source>Save the table</source>
        <translation>Tabelle speichern</translation>
    </message>
    <message>
        <source>CSV (*.csv)</source>
        <translation>CSV (*.csv)</translation>
    </message>
    <message>
        <source>Not saved</source>
        <translation>Nicht gespeichert</translation>
    </message>
    <message>
        <source>Copy as CSV</source>
        <translation>Als CSV kopieren</translation>
    </message>
    <message>
        <source>Copy as Markdown</source>
        <translation>Als Markdown kopieren</translation>
    </message>
    <message>
        <source>Save as CSV…</source>
        <translation>Als CSV speichern…</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Copy selected rows</source>
        <translation>Ausgewählte Zeilen kopieren</translation>
    </message>
</context>
<context>
    <name>Terms</name>
    <message>
        <source>parameters</source>
        <translation>Parameter</translation>
    </message>
    <message>
        <source>The weights that the passes compute with.</source>
        <translation>Die Gewichte, mit denen gerechnet wird.</translation>
    </message>
    <message>
        <source>gradients</source>
        <translation>Gradienten</translation>
    </message>
    <message>
        <source>One gradient for every trained weight, in the type in which they are summed.</source>
        <translation>Ein Gradient für jedes trainierte Gewicht, in dem Typ, in dem sie summiert werden.</translation>
    </message>
    <message>
        <source>optimizer states</source>
        <translation>Optimiererzustände</translation>
    </message>
    <message>
        <source>Master weights and the optimizer&apos;s moments.</source>
        <translation>Hauptgewichte und Momente des Optimierers.</translation>
    </message>
    <message>
        <source>activations</source>
        <translation>Aktivierungen</translation>
    </message>
    <message>
        <source>What forward keeps for backward, for every micro-batch in flight.</source>
        <translation>Was der Vorwärtslauf für den Rückwärtslauf aufhebt, für jeden Mikrostapel unterwegs.</translation>
    </message>
    <message>
        <source>logits</source>
        <translation>Logits</translation>
    </message>
    <message>
        <source>Scores over the vocabulary and their loss, on the last stage.</source>
        <translation>Werte über dem Vokabular und ihr Loss, auf der letzten Stufe.</translation>
    </message>
    <message>
        <source>transient</source>
        <translation>vorübergehend</translation>
    </message>
    <message>
        <source>Tensors that live only while one layer runs.</source>
        <translation>Tensoren, die nur leben, während eine Schicht rechnet.</translation>
    </message>
    <message>
        <source>communication</source>
        <translation>Kommunikation</translation>
    </message>
    <message>
        <source>Buffers of the communicators, outside the framework&apos;s allocator.</source>
        <translation>Puffer der Kommunikatoren, außerhalb des Allokators des Frameworks.</translation>
    </message>
    <message>
        <source>overhead</source>
        <translation>Aufwand</translation>
    </message>
    <message>
        <source>matrix products</source>
        <translation>Matrixprodukte</translation>
    </message>
    <message>
        <source>Projections, MLP and output layer on the tensor cores.</source>
        <translation>Projektionen, MLP und Ausgabeschicht auf den Tensorkernen.</translation>
    </message>
    <message>
        <source>attention</source>
        <translation>Attention</translation>
    </message>
    <message>
        <source>Scores, softmax and weighted values.</source>
        <translation>Scores, Softmax und gewichtete Values.</translation>
    </message>
    <message>
        <source>memory-bound kernels</source>
        <translation>speicherbegrenzte Kernel</translation>
    </message>
    <message>
        <source>Norms, activations, residuals: as fast as memory is.</source>
        <translation>Normen, Aktivierungen, Residuen: so schnell wie der Speicher.</translation>
    </message>
    <message>
        <source>recomputation</source>
        <translation>Neuberechnung</translation>
    </message>
    <message>
        <source>Forward run again during backward, to save activations.</source>
        <translation>Vorwärtslauf, im Rückwärtslauf wiederholt, um Aktivierungen zu sparen.</translation>
    </message>
    <message>
        <source>kernel launches</source>
        <translation>Kernelstarts</translation>
    </message>
    <message>
        <source>Gaps between kernels.</source>
        <translation>Lücken zwischen Kerneln.</translation>
    </message>
    <message>
        <source>tensor-parallel comm</source>
        <translation>tensorparallele Komm.</translation>
    </message>
    <message>
        <source>Exposed communication inside layers cut over tensor-parallel ranks.</source>
        <translation>Sichtbare Kommunikation in Schichten, die über tensorparallele Ränge geteilt sind.</translation>
    </message>
    <message>
        <source>context-parallel comm</source>
        <translation>kontextparallele Komm.</translation>
    </message>
    <message>
        <source>Exposed exchange of keys and values between parts of a sequence.</source>
        <translation>Sichtbarer Austausch von Keys und Values zwischen Teilen einer Sequenz.</translation>
    </message>
    <message>
        <source>expert-parallel comm</source>
        <translation>expertenparallele Komm.</translation>
    </message>
    <message>
        <source>Exposed exchange of tokens between experts.</source>
        <translation>Sichtbarer Austausch von Tokens zwischen Experten.</translation>
    </message>
    <message>
        <source>pipeline messages</source>
        <translation>Pipelinenachrichten</translation>
    </message>
    <message>
        <source>Activations and gradients sent between stages, as far as they are waited for.</source>
        <translation>Zwischen Stufen gesendete Aktivierungen und Gradienten, soweit auf sie gewartet wird.</translation>
    </message>
    <message>
        <source>pipeline bubble</source>
        <translation>Pipelineleerlauf</translation>
    </message>
    <message>
        <source>Waiting for other stages while the pipeline fills and drains.</source>
        <translation>Warten auf andere Stufen, während sich die Pipeline füllt und leert.</translation>
    </message>
    <message>
        <source>data-parallel comm</source>
        <translation>datenparallele Komm.</translation>
    </message>
    <message>
        <source>Exposed reduction of gradients and gathering of parameters.</source>
        <translation>Sichtbares Reduzieren der Gradienten und Sammeln der Parameter.</translation>
    </message>
    <message>
        <source>optimizer</source>
        <translation>Optimierer</translation>
    </message>
    <message>
        <source>Gradient norm and update of the weights.</source>
        <translation>Gradientennorm und Aktualisierung der Gewichte.</translation>
    </message>
    <message>
        <source>host</source>
        <translation>Rechner</translation>
    </message>
    <message>
        <source>The device waits for the program: data loading, bookkeeping, synchronisation.</source>
        <translation>Die GPU wartet auf das Programm: Daten laden, Buchführung, Synchronisation.</translation>
    </message>
    <message>
        <source>copies to and from the host</source>
        <translation>Kopien zum und vom Host</translation>
    </message>
    <message>
        <source>Offloaded tensors on their way, as far as nothing hides it.</source>
        <translation>Ausgelagerte Tensoren unterwegs, soweit nichts es verdeckt.</translation>
    </message>
    <message>
        <source>Device context and libraries.</source>
        <translation>Gerätekontext und Bibliotheken.</translation>
    </message>
    <message>
        <source>cached</source>
        <translation>vorgehalten</translation>
    </message>
    <message>
        <source>Reserved by the caching allocator, not allocated: what freed tensors left and none takes.</source>
        <translation>Vom Speicherverwalter reserviert, nicht vergeben: was freigegebene Tensoren hinterlassen und keiner nimmt.</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::TimeBreakdown</name>
    <message>
        <source>Where the step&apos;s time goes</source>
        <translation>Wohin die Zeit des Schritts geht</translation>
    </message>
    <message>
        <source>Every cause of the step time, one after the other. Up and down go from cause to cause.</source>
        <translation>Jede Ursache der Schrittzeit, eine nach der anderen. Auf und ab gehen von Ursache zu Ursache.</translation>
    </message>
    <message>
        <source>one step</source>
        <translation>ein Schritt</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>
90 % interval: %1 to %2</source>
        <translation>
90-%-Intervall: %1 bis %2</translation>
    </message>
    <message>
        <source>, %1 of the step</source>
        <translation>, %1 des Schritts</translation>
    </message>
    <message>
        <source>
baseline: %1 (%2)</source>
        <translation>
Basis: %1 (%2)</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::TimePage</name>
    <message>
        <source>Where the time of a step goes appears here.</source>
        <translation>Hier erscheint, wohin die Zeit eines Schritts geht.</translation>
    </message>
    <message>
        <source>The simulated step appears here.</source>
        <translation>Hier erscheint der simulierte Schritt.</translation>
    </message>
    <message>
        <source>Export the step</source>
        <translation>Schritt exportieren</translation>
    </message>
    <message>
        <source>Chrome trace (*.json)</source>
        <translation>Chrome-Trace (*.json)</translation>
    </message>
    <message>
        <source>Not exported</source>
        <translation>Nicht exportiert</translation>
    </message>
    <message>
        <source>Throughput and cost</source>
        <translation>Durchsatz und Kosten</translation>
    </message>
    <message>
        <source>Cancel the simulation</source>
        <translation>Simulation abbrechen</translation>
    </message>
    <message>
        <source>Simulate</source>
        <translation>Simulieren</translation>
    </message>
    <message>
        <source>Simulating … (below: the question before)</source>
        <translation>Wird simuliert … (unten: die Frage davor)</translation>
    </message>
    <message>
        <source>Simulating …</source>
        <translation>Wird simuliert …</translation>
    </message>
    <message>
        <source>Not simulated: %1</source>
        <translation>Nicht simuliert: %1</translation>
    </message>
    <message>
        <source>Not simulated: cancelled.</source>
        <translation>Nicht simuliert: abgebrochen.</translation>
    </message>
    <message>
        <source>the step of this question has not been simulated</source>
        <translation>der Schritt dieser Frage wurde nicht simuliert</translation>
    </message>
    <message>
        <source>Simulated step: %1 (the closed form above says %2: %3); waiting for other stages %4, for communication %5; %6 micro-batches, %7 stages</source>
        <translation>Simulierter Schritt: %1 (die geschlossene Form oben sagt %2: %3); Warten auf andere Stufen %4, auf Kommunikation %5; %6 Mikrobatches, %7 Stufen</translation>
    </message>
    <message>
        <source>Operations, predicted and measured</source>
        <translation>Operationen, vorhergesagt und gemessen</translation>
    </message>
    <message>
        <source>Not laid over the prediction: %1.</source>
        <translation>Nicht über die Vorhersage gelegt: %1.</translation>
    </message>
    <message>
        <source>Measured and predicted timeline of a rank</source>
        <translation>Gemessene und vorhergesagte Zeitachse eines Rangs</translation>
    </message>
    <message>
        <source>Pipeline timeline</source>
        <translation>Zeitachse der Pipeline</translation>
    </message>
    <message>
        <source>Choose the model, machines and layout of the run: a trace is laid over their prediction.</source>
        <translation>Modell, Maschinen und Layout des Laufs wählen: Eine Aufzeichnung wird über deren Vorhersage gelegt.</translation>
    </message>
    <message>
        <source>Step %1 of the trace: %2; predicted %3 (%4 of the measured), stage %5. %6 of the time of products and messages is recognised.</source>
        <translation>Schritt %1 der Aufzeichnung: %2; vorhergesagt %3 (%4 des gemessenen), Stufe %5. %6 der Zeit von Matrixprodukten und Nachrichten sind erkannt.</translation>
    </message>
    <message>
        <source>Measured on %1, predicted for %2.</source>
        <translation>Gemessen auf %1, vorhergesagt für %2.</translation>
    </message>
    <message>
        <source>the allocator is not simulated: %1</source>
        <translation>der Allocator wird nicht simuliert: %1</translation>
    </message>
    <message>
        <source>Perfetto trace (*.pftrace)</source>
        <translation>Perfetto-Trace (*.pftrace)</translation>
    </message>
    <message>
        <source>PyTorch memory snapshot (*.pickle)</source>
        <translation>PyTorch-Speicherabbild (*.pickle)</translation>
    </message>
    <message>
        <source>Spans that are shown</source>
        <translation>Gezeigte Abschnitte</translation>
    </message>
    <message>
        <source>Filter: backward 2..5</source>
        <translation>Filter: rückwärts 2..5</translation>
    </message>
    <message>
        <source>Shows the spans that the words name, and sums them up: a part of a kind&apos;s name, a micro-batch by its number, several by 2..5. Key: /</source>
        <translation>Zeigt und summiert die Abschnitte, die die Wörter nennen: ein Teil des Namens einer Art, ein Mikro-Batch mit seiner Nummer, mehrere mit 2..5. Taste: /</translation>
    </message>
    <message>
        <source>Critical path</source>
        <translation>Kritischer Pfad</translation>
    </message>
    <message>
        <source>The chain of passes, messages and transfers that the step&apos;s length follows from: whatever is not on it could take a little longer. Key: X</source>
        <translation>Die Kette von Durchläufen, Nachrichten und Übertragungen, aus der die Länge des Schritts folgt: was nicht darauf liegt, könnte etwas länger dauern. Taste: X</translation>
    </message>
    <message>
        <source>Fold lanes</source>
        <translation>Spuren falten</translation>
    </message>
    <message>
        <source>One lane for every stage. A triangle beside its name, or C, folds one stage, P pins one above the others. Key: Shift+C</source>
        <translation>Eine Spur je Stufe. Ein Dreieck neben ihrem Namen oder C faltet eine Stufe, P heftet eine über die anderen. Taste: Umschalt+C</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::Timeline</name>
    <message>
        <source>forward</source>
        <translation>vorwärts</translation>
    </message>
    <message>
        <source>backward</source>
        <translation>rückwärts</translation>
    </message>
    <message>
        <source>backward, weights</source>
        <translation>rückwärts, Gewichte</translation>
    </message>
    <message>
        <source>recomputation</source>
        <translation>Neuberechnung</translation>
    </message>
    <message>
        <source>optimizer</source>
        <translation>Optimierer</translation>
    </message>
    <message>
        <source>host</source>
        <translation>Rechner</translation>
    </message>
    <message>
        <source>communication beside compute</source>
        <translation>Kommunikation neben dem Rechnen</translation>
    </message>
    <message>
        <source>exposed communication</source>
        <translation>abgewartete Kommunikation</translation>
    </message>
    <message>
        <source>bubble</source>
        <translation>Leerlauf</translation>
    </message>
    <message>
        <source>Pipeline timeline</source>
        <translation>Zeitachse der Pipeline</translation>
    </message>
    <message>
        <source>%1 %2</source>
        <translation>%1 %2</translation>
    </message>
    <message>
        <source>%1, stage %2, %3</source>
        <translation>%1, Stufe %2, %3</translation>
    </message>
    <message>
        <source>
micro-batch %1</source>
        <translation>
Mikrobatch %1</translation>
    </message>
    <message>
        <source>
chunk %1</source>
        <translation>
Abschnitt %1</translation>
    </message>
    <message>
        <source>
from %1, for %2</source>
        <translation>
ab %1, für %2</translation>
    </message>
    <message numerus="yes">
        <source>One step of %1 on %n lane(s).</source>
        <translation>
            <numerusform>Ein Schritt von %1 auf %n Spur.</numerusform>
            <numerusform>Ein Schritt von %1 auf %n Spuren.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>
Stage %1, %2: %n span(s), busy %3 of the step</source>
        <translation>
            <numerusform>
Stufe %1, %2: %n Abschnitt, %3 des Schritts beschäftigt</numerusform>
            <numerusform>
Stufe %1, %2: %n Abschnitte, %3 des Schritts beschäftigt</numerusform>
        </translation>
    </message>
    <message>
        <source>time of the step</source>
        <translation>Zeit des Schritts</translation>
    </message>
    <message numerus="yes">
        <source>
%1: %n span(s), busy %2 of the step</source>
        <translation>
            <numerusform>
%1: %n Abschnitt, zu %2 des Schritts beschäftigt</numerusform>
            <numerusform>
%1: %n Abschnitte, zu %2 des Schritts beschäftigt</numerusform>
        </translation>
    </message>
    <message>
        <source>Lanes that are seen</source>
        <translation>Sichtbare Bahnen</translation>
    </message>
    <message>
        <source>waiting %1</source>
        <translation>Warten %1</translation>
    </message>
    <message numerus="yes">
        <source>Selected: %1 from %2 in %n lane(s): %3.</source>
        <translation>
            <numerusform>Ausgewählt: %1 ab %2 in %n Bahn: %3.</numerusform>
            <numerusform>Ausgewählt: %1 ab %2 in %n Bahnen: %3.</numerusform>
        </translation>
    </message>
    <message>
        <source>nothing runs</source>
        <translation>nichts läuft</translation>
    </message>
    <message>
        <source>What every stage does over one step. Wheel or W and S zoom, dragging or A and D move, F shows everything, M zooms to the current span, arrows go from span to span. Where lanes are scrolled through, Ctrl and the wheel zoom. Dragging with Shift selects a part and sums it up. C folds the lanes of a stage into one, or unfolds them, with Shift those of all stages; P pins a stage above the others; X shows the critical path, / goes to the filter.</source>
        <translation>Was jede Stufe in einem Schritt tut. Rad oder W und S zoomen, Ziehen oder A und D verschieben, F zeigt alles, M zoomt auf den aktuellen Abschnitt, Pfeile gehen von Abschnitt zu Abschnitt. Wo Spuren gerollt werden, zoomen Strg und das Rad. Ziehen mit Umschalt wählt einen Teil und summiert ihn. C faltet die Spuren einer Stufe zu einer oder entfaltet sie, mit Umschalt die aller Stufen; P heftet eine Stufe über die anderen; X zeigt den kritischen Pfad, / geht zum Filter.</translation>
    </message>
    <message>
        <source>No span is called so.</source>
        <translation>Kein Abschnitt heißt so.</translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <translation>%1 (%2)</translation>
    </message>
    <message>
        <source>Filter: %1 of %2 spans</source>
        <translation>Filter: %1 von %2 Abschnitten</translation>
    </message>
    <message>
        <source>%1: %2.</source>
        <translation>%1: %2.</translation>
    </message>
    <message numerus="yes">
        <source>Critical path, over %n stage(s): %1.</source>
        <translation>
            <numerusform>Kritischer Pfad, über %n Stufe: %1.</numerusform>
            <numerusform>Kritischer Pfad, über %n Stufen: %1.</numerusform>
        </translation>
    </message>
    <message>
        <source>&amp;Unfold the lanes</source>
        <translation>Spuren &amp;entfalten</translation>
    </message>
    <message>
        <source>&amp;Fold the lanes into one</source>
        <translation>Spuren zu einer &amp;falten</translation>
    </message>
    <message>
        <source>Un&amp;pin the lanes</source>
        <translation>Spuren &amp;lösen</translation>
    </message>
    <message>
        <source>&amp;Pin the lanes above the others</source>
        <translation>Spuren über die anderen &amp;heften</translation>
    </message>
    <message>
        <source>outer gradients</source>
        <translation>äußere Gradienten</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::TraceBar</name>
    <message>
        <source>rank %1: %2</source>
        <translation>Rang %1: %2</translation>
    </message>
    <message>
        <source>Open a measured trace…</source>
        <translation>Gemessene Aufzeichnung öffnen …</translation>
    </message>
    <message>
        <source>A trace that torch.profiler wrote (export_chrome_trace), plain or gzip&apos;ed, one file per rank; or a report of Nsight Systems (nsys export --type sqlite). It is laid over the predicted step of its rank.</source>
        <translation>Eine Aufzeichnung von torch.profiler (export_chrome_trace), auch mit gzip gepackt, eine Datei je Rang; oder ein Bericht von Nsight Systems (nsys export --type sqlite). Sie wird über den vorhergesagten Schritt ihres Rangs gelegt.</translation>
    </message>
    <message>
        <source>What the timeline shows</source>
        <translation>Was die Zeitachse zeigt</translation>
    </message>
    <message>
        <source>Close it</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Forgets the trace that is shown; the file stays</source>
        <translation>Vergisst die gezeigte Aufzeichnung; die Datei bleibt</translation>
    </message>
    <message>
        <source>Progress of reading the trace</source>
        <translation>Fortschritt beim Lesen der Aufzeichnung</translation>
    </message>
    <message>
        <source>Cancel reading</source>
        <translation>Lesen abbrechen</translation>
    </message>
    <message>
        <source>Not opened: %1</source>
        <translation>Nicht geöffnet: %1</translation>
    </message>
    <message>
        <source>Open traces of a run</source>
        <translation>Aufzeichnungen eines Laufs öffnen</translation>
    </message>
    <message>
        <source>Traces (*.json *.json.gz *.gz *.trace *.sqlite);;All files (*)</source>
        <translation>Aufzeichnungen (*.json *.json.gz *.gz *.trace *.sqlite);;Alle Dateien (*)</translation>
    </message>
    <message>
        <source>the whole pipeline, predicted</source>
        <translation>die ganze Pipeline, vorhergesagt</translation>
    </message>
    <message>
        <source>Reading %1: %p %</source>
        <translation>Lese %1: %p %</translation>
    </message>
    <message>
        <source>Take them out of the project</source>
        <translation>Aus dem Projekt nehmen</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::TraceJob</name>
    <message>
        <source>This trace is of another model, layout, micro-batch or sequence: the plan has nothing like its %1.</source>
        <translation>Diese Aufzeichnung gehört zu einem anderen Modell, Layout, Micro-Batch oder einer anderen Sequenz: Der Plan hat nichts wie ihr %1.</translation>
    </message>
    <message>
        <source>The trace says %1 processes, the plan has %2 GPUs.</source>
        <translation>Die Aufzeichnung nennt %1 Prozesse, der Plan hat %2 GPUs.</translation>
    </message>
    <message>
        <source>The plan has no rank %1: laid over stage 0.</source>
        <translation>Der Plan hat keinen Rang %1: über Stufe 0 gelegt.</translation>
    </message>
    <message>
        <source>It says no rank: laid over stage 0.</source>
        <translation>Sie nennt keinen Rang: über Stufe 0 gelegt.</translation>
    </message>
    <message>
        <source>out of memory</source>
        <translation>kein Speicher mehr</translation>
    </message>
    <message>
        <source>the step has too many operations to be drawn one by one</source>
        <translation>der Schritt hat zu viele Operationen, um sie einzeln zu zeichnen</translation>
    </message>
</context>
<context>
    <name>Traced</name>
    <message>
        <source>operation</source>
        <translation>Operation</translation>
    </message>
    <message>
        <source>As the operation list names it.</source>
        <translation>Wie die Operationsliste sie nennt.</translation>
    </message>
    <message>
        <source>shape</source>
        <translation>Form</translation>
    </message>
    <message>
        <source>Dimensions of a product; kind, size and ranks of a message.</source>
        <translation>Maße eines Matrixprodukts; Art, Größe und Ränge einer Nachricht.</translation>
    </message>
    <message>
        <source>predicted</source>
        <translation>vorhergesagt</translation>
    </message>
    <message>
        <source>All of them in one step, nothing hidden behind anything else.</source>
        <translation>Alle in einem Schritt, nichts hinter anderem verborgen.</translation>
    </message>
    <message>
        <source>measured</source>
        <translation>gemessen</translation>
    </message>
    <message>
        <source>The same in the trace, the mean over its steps.</source>
        <translation>Dasselbe in der Aufzeichnung, Mittel über ihre Schritte.</translation>
    </message>
    <message>
        <source>ratio</source>
        <translation>Verhältnis</translation>
    </message>
    <message>
        <source>Measured over predicted: above 1, the run is slower.</source>
        <translation>Gemessen durch vorhergesagt: Über 1 ist der Lauf langsamer.</translation>
    </message>
    <message>
        <source>lost</source>
        <translation>verloren</translation>
    </message>
    <message>
        <source>Measured less predicted, per step.</source>
        <translation>Gemessen weniger vorhergesagt, je Schritt.</translation>
    </message>
    <message>
        <source>of the step</source>
        <translation>vom Schritt</translation>
    </message>
    <message>
        <source>Measured time as a share of the measured step; what runs side by side adds up to more.</source>
        <translation>Gemessene Zeit als Anteil des gemessenen Schritts; was nebeneinander läuft, ergibt zusammen mehr.</translation>
    </message>
    <message>
        <source>predicted runs</source>
        <translation>vorhergesagte Läufe</translation>
    </message>
    <message>
        <source>In one step.</source>
        <translation>In einem Schritt.</translation>
    </message>
    <message>
        <source>measured runs</source>
        <translation>gemessene Läufe</translation>
    </message>
    <message>
        <source>kind</source>
        <translation>Art</translation>
    </message>
    <message>
        <source>What the device does.</source>
        <translation>Was das Gerät tut.</translation>
    </message>
    <message>
        <source>products</source>
        <translation>Matrixprodukte</translation>
    </message>
    <message>
        <source>attention</source>
        <translation>Attention</translation>
    </message>
    <message>
        <source>memory-bound</source>
        <translation>speichergebunden</translation>
    </message>
    <message>
        <source>messages</source>
        <translation>Nachrichten</translation>
    </message>
    <message>
        <source>copies</source>
        <translation>Kopien</translation>
    </message>
    <message>
        <source>%1 of unknown shape</source>
        <translation>%1 unbekannter Form</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::Treemap</name>
    <message>
        <source>Tensors by size</source>
        <translation>Tensoren nach Größe</translation>
    </message>
    <message>
        <source>Every tensor of one GPU at its peak, as large as its memory. Click or Enter goes into a group, Backspace back, arrows move.</source>
        <translation>Jeder Tensor einer GPU an ihrer Spitze, so groß wie sein Speicher. Klick oder Eingabe öffnet eine Gruppe, Rücktaste geht zurück, Pfeile bewegen.</translation>
    </message>
    <message>
        <source>%1
%2, %3 of all
%4 × %5 elements of %6
formula %7</source>
        <translation>%1
%2, %3 von allem
%4 × %5 Elemente von %6
Formel %7</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1: %2</translation>
    </message>
    <message>
        <source>
%1: %2, %3</source>
        <translation>
%1: %2, %3</translation>
    </message>
    <message>
        <source>; %1 %2</source>
        <translation>; %1 %2</translation>
    </message>
    <message>
        <source>%1  %2</source>
        <translation>%1  %2</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::ValidationPage</name>
    <message>
        <source>Open a &amp;report…</source>
        <translation>&amp;Bericht öffnen…</translation>
    </message>
    <message>
        <source>What is compared</source>
        <translation>Was verglichen wird</translation>
    </message>
    <message>
        <source>step time</source>
        <translation>Schrittzeit</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>Predicted and measured</source>
        <translation>Vorhergesagt und gemessen</translation>
    </message>
    <message>
        <source>Predictions over measurements appear here.</source>
        <translation>Hier erscheinen Vorhersagen über Messungen.</translation>
    </message>
    <message>
        <source>Calibration in use</source>
        <translation>Verwendete Kalibrierung</translation>
    </message>
    <message>
        <source>&lt;b&gt;Calibration in use: %1&lt;/b&gt; %2</source>
        <translation>&lt;b&gt;Verwendete Kalibrierung: %1&lt;/b&gt; %2</translation>
    </message>
    <message>
        <source>&lt;b&gt;%1&lt;/b&gt;: %2 step times and %3 memory figures beside their predictions</source>
        <translation>&lt;b&gt;%1&lt;/b&gt;: %2 Schrittzeiten und %3 Speicherwerte neben ihren Vorhersagen</translation>
    </message>
    <message>
        <source>&lt;b&gt;%1&lt;/b&gt;: %2 on %3%4</source>
        <translation>&lt;b&gt;%1&lt;/b&gt;: %2 auf %3%4</translation>
    </message>
    <message>
        <source> (the run did not complete)</source>
        <translation> (der Lauf wurde nicht fertig)</translation>
    </message>
    <message>
        <source>&amp;Terms</source>
        <translation>&amp;Posten</translation>
    </message>
    <message>
        <source>Time by phase</source>
        <translation>Zeit nach Phase</translation>
    </message>
    <message>
        <source>P&amp;hases</source>
        <translation>P&amp;hasen</translation>
    </message>
    <message>
        <source>Collectives</source>
        <translation>Kollektive</translation>
    </message>
    <message>
        <source>&amp;Collectives</source>
        <translation>&amp;Kollektive</translation>
    </message>
    <message>
        <source>Operations</source>
        <translation>Operationen</translation>
    </message>
    <message>
        <source>Oper&amp;ations</source>
        <translation>Oper&amp;ationen</translation>
    </message>
    <message>
        <source>fitted</source>
        <translation>angepasst</translation>
    </message>
    <message>
        <source>held out</source>
        <translation>zurückgehalten</translation>
    </message>
    <message>
        <source>scenarios</source>
        <translation>Szenarien</translation>
    </message>
    <message>
        <source>Scenario</source>
        <translation>Szenario</translation>
    </message>
    <message>
        <source>all scenarios</source>
        <translation>alle Szenarien</translation>
    </message>
    <message>
        <source>&lt;b&gt;%1&lt;/b&gt;: %2 of %3 scenarios measured on %4</source>
        <translation>&lt;b&gt;%1&lt;/b&gt;: %2 von %3 Szenarien gemessen auf %4</translation>
    </message>
    <message>
        <source>&lt;b&gt;%1&lt;/b&gt;: %2</source>
        <translation>&lt;b&gt;%1&lt;/b&gt;: %2</translation>
    </message>
    <message>
        <source>Report that is shown</source>
        <translation>Gezeigter Bericht</translation>
    </message>
    <message>
        <source>Remove it</source>
        <translation>Entfernen</translation>
    </message>
    <message>
        <source>Takes the report out of the project; its file stays</source>
        <translation>Nimmt den Bericht aus dem Projekt; seine Datei bleibt</translation>
    </message>
    <message>
        <source>Remove the report that is shown</source>
        <translation>Den gezeigten Bericht entfernen</translation>
    </message>
    <message>
        <source>No report is open.</source>
        <translation>Kein Bericht ist offen.</translation>
    </message>
    <message>
        <source>Not understood here: %1</source>
        <translation>Hier nicht verstanden: %1</translation>
    </message>
    <message>
        <source>Parts of the report</source>
        <translation>Teile des Berichts</translation>
    </message>
    <message>
        <source>Origin of the calibration</source>
        <translation>Herkunft der Kalibrierung</translation>
    </message>
    <message>
        <source>Published runs</source>
        <translation>Veröffentlichte Läufe</translation>
    </message>
    <message>
        <source>Published runs nearest to the question</source>
        <translation>Veröffentlichte Läufe, die der Frage am nächsten sind</translation>
    </message>
    <message>
        <source>P&amp;ublished runs</source>
        <translation>Ver&amp;öffentlichte Läufe</translation>
    </message>
    <message>
        <source>Open the log of a run of this question, a CUDA memory snapshot, a table of nccl-tests, a log of nvidia-smi, or what &apos;hexaplan validate --json&apos;, &apos;hexaplan run --json&apos; or &apos;hexaplan accuracy --rows --json&apos; wrote: every term of the prediction then stands beside its measurement.</source>
        <translation>Öffnen Sie das Protokoll eines Laufs dieser Frage, ein CUDA-Speicherabbild, eine Tabelle von nccl-tests, ein Protokoll von nvidia-smi oder was &apos;hexaplan validate --json&apos;, &apos;hexaplan run --json&apos; oder &apos;hexaplan accuracy --rows --json&apos; geschrieben hat: dann steht jeder Term der Vorhersage neben seiner Messung.</translation>
    </message>
</context>
<context>
    <name>hexaplan::gui::VerdictBar</name>
    <message>
        <source>Peak memory per GPU</source>
        <translation>Speicherspitze je GPU</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>Schritt</translation>
    </message>
    <message>
        <source>Tokens/s per GPU</source>
        <translation>Tokens/s je GPU</translation>
    </message>
    <message>
        <source>Throughput of the job over its GPUs.</source>
        <translation>Durchsatz des Laufs je GPU.</translation>
    </message>
    <message>
        <source>MFU</source>
        <translation>MFU</translation>
    </message>
    <message>
        <source>Model FLOPs over the dense peak of the precision; attention causal, input embedding excluded.</source>
        <translation>Modell-FLOPs über der dichten Spitze der Genauigkeit; kausale Attention, ohne Eingabeeinbettung.</translation>
    </message>
    <message>
        <source>Training</source>
        <translation>Training</translation>
    </message>
    <message>
        <source>Wall time and cost of the token budget.</source>
        <translation>Dauer und Kosten des Tokenbudgets.</translation>
    </message>
    <message>
        <source>Fits</source>
        <translation>Passt</translation>
    </message>
    <message>
        <source>Not asked yet</source>
        <translation>Noch nicht gefragt</translation>
    </message>
    <message>
        <source>Cannot run</source>
        <translation>Kann nicht laufen</translation>
    </message>
    <message>
        <source>Does not fit</source>
        <translation>Passt nicht</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 von %2</translation>
    </message>
    <message>
        <source>%1 to %2</source>
        <translation>%1 bis %2</translation>
    </message>
    <message>
        <source>%1 tokens/s in all</source>
        <translation>%1 Tokens/s insgesamt</translation>
    </message>
    <message>
        <source>HFU %1</source>
        <translation>HFU %1</translation>
    </message>
    <message>
        <source>US$ %1</source>
        <translation>US$ %1</translation>
    </message>
    <message>
        <source>%1 GPU-hours</source>
        <translation>%1 GPU-Stunden</translation>
    </message>
    <message>
        <source>%1: %2/step</source>
        <translation>%1: %2/Schritt</translation>
    </message>
    <message>
        <source>Cancel the search</source>
        <translation>Suche abbrechen</translation>
    </message>
    <message>
        <source>Stage %1 needs %2, %3 more than the usable %4 of the GPU.</source>
        <translation>Stufe %1 braucht %2, %3 mehr als die nutzbaren %4 der GPU.</translation>
    </message>
    <message>
        <source>At risk: %1</source>
        <translation>Riskant: %1</translation>
    </message>
    <message>
        <source>Not modelled: %1.</source>
        <translation>Nicht modelliert: %1.</translation>
    </message>
    <message>
        <source>Without effect: %1.</source>
        <translation>Ohne Wirkung: %1.</translation>
    </message>
    <message>
        <source>Chance of running out of memory: %1</source>
        <translation>Überlaufrisiko: %1</translation>
    </message>
    <message>
        <source>%1; %2</source>
        <translation>%1; %2</translation>
    </message>
    <message>
        <source>%1 at %2× the tokens</source>
        <translation>%1 bei %2× so vielen Token</translation>
    </message>
    <message>
        <source>%1: %2/step, risk %3</source>
        <translation>%1: %2/Schritt, Risiko %3</translation>
    </message>
    <message>
        <source>With %1: %2 per GPU, %3 per step, chance of running out of memory %4. Click to apply.</source>
        <translation>Mit %1: %2 je GPU, %3 je Schritt, Überlaufrisiko %4. Klick wendet es an.</translation>
    </message>
    <message>
        <source>Find a layout that fits</source>
        <translation>Passendes Layout suchen</translation>
    </message>
    <message>
        <source>Searches all layouts on these GPUs and loads the fastest that fits safely</source>
        <translation>Durchsucht alle Layouts auf diesen GPUs und lädt das schnellste, das sicher passt</translation>
    </message>
    <message>
        <source>As predicted it needs %1 of the usable %2, but predictions err: the chance of running out of memory is %3.</source>
        <translation>Der Vorhersage nach braucht es %1 von nutzbaren %2, doch Vorhersagen irren: Die Wahrscheinlichkeit, dass der Speicher nicht reicht, ist %3.</translation>
    </message>
    <message>
        <source>What the fullest rank cannot do without, of what is usable. Below: what its device will show, which includes what the allocator could give back, as 90 % interval of the estimate.</source>
        <translation>Was der vollste Rang unbedingt braucht, vom Nutzbaren. Darunter: was seine GPU anzeigen wird, samt dem, was der Allokator hergeben könnte, als 90-%-Intervall der Schätzung.</translation>
    </message>
    <message>
        <source>on the device %1</source>
        <translation>auf der GPU %1</translation>
    </message>
    <message>
        <source>points</source>
        <translation>Punkte</translation>
    </message>
    <message>
        <source>Time of one optimizer step in closed form, with its 90 % interval. The plans of a search are ranked by simulated steps, a few percent off; the Time page simulates the present one.</source>
        <translation>Dauer eines Optimiererschritts in geschlossener Form, mit ihrem 90-%-Intervall. Die Pläne einer Suche sind nach simulierten Schritten geordnet, die wenige Prozent abweichen; die Zeitseite simuliert den jetzigen.</translation>
    </message>
    <message>
        <source>Faster:</source>
        <translation>Schneller:</translation>
    </message>
    <message>
        <source>Single changes with which a step is at least 1 % shorter and the plan still fits safely</source>
        <translation>Einzelne Änderungen, mit denen ein Schritt mindestens 1 % kürzer ist und der Plan noch sicher passt</translation>
    </message>
    <message>
        <source>The chance of running out of memory is %1.</source>
        <translation>Die Wahrscheinlichkeit, dass der Speicher nicht reicht, ist %1.</translation>
    </message>
    <message>
        <source>No single change saves 1 % and fits safely.</source>
        <translation>Keine einzelne Änderung spart 1 % und passt sicher.</translation>
    </message>
</context>
</TS>
