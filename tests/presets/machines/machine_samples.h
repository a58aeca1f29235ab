#pragma once

// Outputs of tools as public reports have them, shortened to the lines that are read.
namespace hexaplan::presets::samples {

// vllm-project/vllm#6746: 8 H100, twelve cards.
inline constexpr char kTopologyH100[] =
    "\t\x1b["
    "4mGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tGPU5\tGPU6\tGPU7\tNIC0\tNIC1\tNIC2\tNIC3\tNIC4\tNIC5\tNIC6\tNIC7\t"
    "NIC8\tNIC9\tNIC10\tNIC11\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tNV18\tNV18\tNV18\tNV18\tNV18\tNV18\tPXB\tNODE\tNODE\tNODE\tNODE\tNODE\tSYS\tSYS\tSYS\t"
    "SYS\tSYS\tSYS\t0-55,112-167\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tNV18\tNV18\tNV18\tNV18\tNV18\tNV18\tNODE\tNODE\tNODE\tPXB\tNODE\tNODE\tSYS\tSYS\tSYS\t"
    "SYS\tSYS\tSYS\t0-55,112-167\t0\t\tN/A\n"
    "GPU2\tNV18\tNV18\t X \tNV18\tNV18\tNV18\tNV18\tNV18\tNODE\tNODE\tNODE\tNODE\tPXB\tNODE\tSYS\tSYS\tSYS\t"
    "SYS\tSYS\tSYS\t0-55,112-167\t0\t\tN/A\n"
    "GPU3\tNV18\tNV18\tNV18\t X \tNV18\tNV18\tNV18\tNV18\tNODE\tNODE\tNODE\tNODE\tNODE\tPXB\tSYS\tSYS\tSYS\t"
    "SYS\tSYS\tSYS\t0-55,112-167\t0\t\tN/A\n"
    "GPU4\tNV18\tNV18\tNV18\tNV18\t X \tNV18\tNV18\tNV18\tSYS\tSYS\tSYS\tSYS\tSYS\tSYS\tPXB\tNODE\tNODE\t"
    "NODE\tNODE\tNODE\t56-111,168-223\t1\t\tN/A\n"
    "GPU5\tNV18\tNV18\tNV18\tNV18\tNV18\t X \tNV18\tNV18\tSYS\tSYS\tSYS\tSYS\tSYS\tSYS\tNODE\tNODE\tNODE\t"
    "PXB\tNODE\tNODE\t56-111,168-223\t1\t\tN/A\n"
    "GPU6\tNV18\tNV18\tNV18\tNV18\tNV18\tNV18\t X \tNV18\tSYS\tSYS\tSYS\tSYS\tSYS\tSYS\tNODE\tNODE\tNODE\t"
    "NODE\tPXB\tNODE\t56-111,168-223\t1\t\tN/A\n"
    "GPU7\tNV18\tNV18\tNV18\tNV18\tNV18\tNV18\tNV18\t X \tSYS\tSYS\tSYS\tSYS\tSYS\tSYS\tNODE\tNODE\tNODE\t"
    "NODE\tNODE\tPXB\t56-111,168-223\t1\t\tN/A\n"
    "NIC0\tPXB\tNODE\tNODE\tNODE\tSYS\tSYS\tSYS\tSYS\t X \tNODE\tNODE\tNODE\tNODE\tNODE\tSYS\tSYS\tSYS\tSYS\t"
    "SYS\tSYS\n"
    "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n";

// NVIDIA/nccl-tests#78: cards by their names, columns by blanks; the first four of its 16 GPUs.
inline constexpr char kTopologyNamedCards[] =
    "        GPU0    GPU1    GPU2    GPU3    mlx5_0  mlx5_1  CPU Affinity\n"
    "GPU0     X      NV6     NV6     NV6     PIX     PXB     0-23,48-71\n"
    "GPU1    NV6      X      NV6     NV6     PIX     PXB     0-23,48-71\n"
    "GPU2    NV6     NV6      X      NV6     PXB     PIX     0-23,48-71\n"
    "GPU3    NV6     NV6     NV6      X      PXB     PIX     0-23,48-71\n";

// Cards with NVLink bridges, as NVIDIA's legend describes them: two pairs.
inline constexpr char kTopologyBridges[] =
    "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tNV4\tSYS\tSYS\t0-31\t0\n"
    "GPU1\tNV4\t X \tSYS\tSYS\t0-31\t0\n"
    "GPU2\tSYS\tSYS\t X \tNV4\t32-63\t1\n"
    "GPU3\tSYS\tSYS\tNV4\t X \t32-63\t1\n";

// influxdata/telegraf@54e3454 plugins/inputs/nvidia_smi/testdata/a100-sxm4-v12.xml: one of four GPUs is in
// it.
inline constexpr char kSmiA100[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n"
    "<nvidia_smi_log>\n"
    "    <driver_version>535.54.03</driver_version>\n"
    "    <attached_gpus>4</attached_gpus>\n"
    "    <gpu id=\"00000000:01:00.0\">\n"
    "        <product_name>NVIDIA A100-SXM4-80GB</product_name>\n"
    "        <mig_mode>\n"
    "            <current_mig>Enabled</current_mig>\n"
    "        </mig_mode>\n"
    "        <mig_devices>\n"
    "            <mig_device>\n"
    "                <fb_memory_usage>\n"
    "                    <total>19968 MiB</total>\n"
    "                </fb_memory_usage>\n"
    "            </mig_device>\n"
    "        </mig_devices>\n"
    "        <fb_memory_usage>\n"
    "            <total>81920 MiB</total>\n"
    "        </fb_memory_usage>\n"
    "        <gpu_power_readings>\n"
    "            <current_power_limit>500.00 W</current_power_limit>\n"
    "            <default_power_limit>500.00 W</default_power_limit>\n"
    "        </gpu_power_readings>\n"
    "    </gpu>\n"
    "</nvidia_smi_log>\n";

// leptonai/gpud@4446606 pkg/nvidia-query/infiniband/testdata/ibstat.47.0.h100.some.down.0: two of its eight
// cards of 400 Gbit/s, one of Ethernet and one that is down.
inline constexpr char kIbstatH100[] =
    "CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Active\n"
    "\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tBase lid: 75\n\t\tLink layer: InfiniBand\n"
    "CA 'mlx5_1'\n\tCA type: MT4125\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Active\n"
    "\t\tPhysical state: LinkUp\n\t\tRate: 100\n\t\tBase lid: 0\n\t\tLink layer: Ethernet\n"
    "CA 'mlx5_2'\n\tCA type: MT4125\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Down\n"
    "\t\tPhysical state: Disabled\n\t\tRate: 40\n\t\tBase lid: 0\n\t\tLink layer: Ethernet\n"
    "CA 'mlx5_3'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Active\n"
    "\t\tPhysical state: LinkUp\n\t\tRate: 400\n\t\tBase lid: 143\n\t\tLink layer: InfiniBand\n";

// kvcache-ai/Mooncake#1999: RoCE.
inline constexpr char kIbstatRoce[] =
    "CA 'mlx5_0'\n        CA type: MT4129\n        Number of ports: 1\n        Port 1:\n"
    "                State: Active\n                Physical state: LinkUp\n                Rate: 200\n"
    "                Link layer: Ethernet\n"
    "CA 'mlx5_1'\n        CA type: MT4129\n        Number of ports: 1\n        Port 1:\n"
    "                State: Active\n                Physical state: LinkUp\n                Rate: 200\n"
    "                Link layer: Ethernet\n";

// The form of SlinkyProject/slurm-operator#101 (Slurm 25.11), with the GRES that its reporter expected.
inline constexpr char kSlurmNodes[] =
    "NodeName=slinky-0 Arch=x86_64 CoresPerSocket=48 \n"
    "   CPUAlloc=0 CPUEfctv=192 CPUTot=192 CPULoad=0.05\n"
    "   Gres=gpu:h100:8(S:0-1)\n"
    "   OS=Linux 5.15.0-140-generic #150-Ubuntu SMP Sat Apr 12 06:00:09 UTC 2025 \n"
    "   RealMemory=1031533 AllocMem=0 FreeMem=932840 Sockets=2 Boards=1\n"
    "   State=IDLE+DYNAMIC_NORM ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A\n"
    "   CfgTRES=cpu=192,mem=1031533M,billing=192,gres/gpu=8\n\n"
    "NodeName=slinky-1 Arch=x86_64 CoresPerSocket=48 \n"
    "   Gres=gpu:h100:8(S:0-1)\n"
    "   RealMemory=1031533 AllocMem=0 FreeMem=932840 Sockets=2 Boards=1\n"
    "   State=MIXED ThreadsPerCore=2\n\n"
    "NodeName=slinky-2 Arch=x86_64\n   Gres=gpu:h100:8(S:0-1)\n   RealMemory=1031533\n   State=IDLE+DRAIN\n"
    "   Reason=Node start up [root@2026-03-11T11:05:51]\n\n"
    "NodeName=login-0 Arch=x86_64\n   Gres=(null)\n   RealMemory=250000\n   State=IDLE\n";

}  // namespace hexaplan::presets::samples
