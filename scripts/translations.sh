#!/usr/bin/env bash
# scripts/translations.sh         brings gui/app/translations/*.ts up to date with the texts in gui/ and of fields in presets/ (needs Qt's lupdate)
# scripts/translations.sh check   fails when a text has no entry or an entry no translation
set -euo pipefail
cd "$(dirname "$0")/.."

lupdate=${LUPDATE:-$(command -v lupdate6 || command -v lupdate || echo /usr/lib/qt6/bin/lupdate)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# lupdate leaves the namespace out of the names of classes, tr() does not. Contexts that translate() names stay as they are.
classes=$(grep -rlE '^ +Q_OBJECT' gui --include='*.h' | xargs sed -nE 's/^class ([A-Za-z]+) : public.*/\1/p')

with_namespace() {
  local script=""
  for class in $classes; do script+="s#<name>$class</name>#<name>hexaplan::gui::$class</name>#;"; done
  sed "$script" "$1"
}

for file in gui/app/translations/*.ts; do
  sed 's#<name>hexaplan::gui::#<name>#' "$file" >"$work/${file##*/}"
  # It warns about every qualified name in a nested namespace: heard only when it fails.
  "$lupdate" -silent -no-obsolete -locations none -tr-function-alias QT_TRANSLATE_NOOP+=window_text gui presets/scenario presets/clusters -ts "$work/${file##*/}" 2>"$work/said" || { cat "$work/said" >&2; exit 1; }
  with_namespace "$work/${file##*/}" >"$work/new"
  if [[ ${1:-} != check ]]; then
    cp "$work/new" "$file"
  elif grep -qE 'type="unfinished"|<translation></translation>|<numerusform></numerusform>' "$work/new"; then
    echo "$file: these texts are not translated (scripts/translations.sh adds their entries):"
    grep -B3 'type="unfinished"' "$work/new" | sed -nE 's#.*<source>(.*)#  \1#p' | sed 's#</source>##'
    exit 1
  fi
done
