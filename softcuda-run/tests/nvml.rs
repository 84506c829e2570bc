//! NVML under `softcuda-run`: its devices are those of the driver.
#![cfg(target_os = "linux")]

#[allow(dead_code)] // each file of tests uses some of it
mod common;

use common::Machine;
use std::path::Path;

/// Compares NVML with the driver, and asks it what programs ask. Prints what differs, and then "done".
const COMPARES: &str = r#"
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *cuda, *nvml;
static int failures;
#define CHECK(c) do { if (!(c)) { printf("line %d: %s\n", __LINE__, #c); failures++; } } while (0)

typedef long (*any)(uint64_t, uint64_t, uint64_t, uint64_t);
static int call(void *library, const char *name, uint64_t a, uint64_t b, uint64_t c) {
    any function = 0;
    *(void **)&function = dlsym(library, name);
    if (!function) { printf("%s is not there\n", name); exit(3); }
    return (int)function(a, b, c, 0);
}
#define AT(x) ((uint64_t)(uintptr_t)(x))
#define NVML(name, a, b, c) call(nvml, "nvml" name, (uint64_t)(a), (uint64_t)(b), (uint64_t)(c))
#define CUDA(name, a, b, c) call(cuda, "cu" name, (uint64_t)(a), (uint64_t)(b), (uint64_t)(c))

struct memory { uint64_t total, free, used; };
struct memory2 { unsigned version; uint64_t total, reserved, free, used; };
struct pci { char old[16]; unsigned domain, bus, device, product, subsystem; char address[32]; };
struct field { unsigned field, scope; int64_t timestamp, latency; unsigned kind; int result; uint64_t value; };
struct branch { unsigned version; char name[80]; };
struct process { unsigned pid; uint64_t used; unsigned gpu, compute; };

int main(int argc, char **argv) {
    int devices = atoi(argv[1]), version = atoi(argv[2]);
    const char *branch = argv[3];
    (void)argc;
    nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!nvml || !cuda) { printf("%s\n", dlerror()); return 2; }
    CHECK(dlsym(nvml, "cuInit") == NULL && dlsym(nvml, "nvmlNoSuchFunction") == NULL);

    /* before it is initialised */
    unsigned count = 7, number = 7, other = 7;
    char text[96] = "untouched", expected[96];
    void *device = &count;
    CHECK(NVML("DeviceGetCount_v2", AT(&count), 0, 0) == 1 && count == 7);
    CHECK(NVML("SystemGetDriverVersion", AT(text), 96, 0) == 1 && !strcmp(text, "untouched"));
    CHECK(NVML("DeviceGetTemperature", 0, 0, 0) == 1 && NVML("Shutdown", 0, 0, 0) == 1);
    CHECK(NVML("InitWithFlags", 0x80, 0, 0) == 0 && NVML("Shutdown", 0, 0, 0) == 0 && NVML("Shutdown", 0, 0, 0) == 1);
    CHECK(NVML("SystemGetNVMLVersion", AT(text), 96, 0) == 0);
    const char *(*string)(int) = 0;
    *(void **)&string = dlsym(nvml, "nvmlErrorString");
    CHECK(!strcmp(string(0), "Success") && !strcmp(string(3), "Not Supported") && !strcmp(string(13), "Function Not Found"));
    CHECK(!strcmp(string(25), "Argument version mismatch") && !strcmp(string(28), "No supported GPUs were found"));
    CHECK(!strcmp(string(999), "Unknown Error") && !strcmp(string(-5), "Unknown Error") && !strcmp(string(31), "Unknown Error"));

    CHECK(NVML("Init_v2", 0, 0, 0) == 0 && NVML("InitWithFlags", 0, 0, 0) == 0);
    int answered = 0;
    CHECK(NVML("SystemGetCudaDriverVersion_v2", AT(&answered), 0, 0) == 0 && answered == version);
    CHECK(NVML("SystemGetCudaDriverVersion", 0, 0, 0) == 2);
    CHECK(NVML("SystemGetDriverVersion", AT(text), 96, 0) == 0);
    snprintf(expected, sizeof expected, "%s.00.00", branch);
    CHECK(!strcmp(text, expected));
    CHECK(NVML("SystemGetDriverVersion", AT(text), 9, 0) == 7 && !strcmp(text, expected));
    CHECK(NVML("SystemGetDriverVersion", AT(text), 10, 0) == 0 && NVML("SystemGetDriverVersion", 0, 10, 0) == 2);
    snprintf(expected, sizeof expected, "%d.%s.00.00", version / 1000, branch);
    CHECK(NVML("SystemGetNVMLVersion", AT(text), 96, 0) == 0 && !strcmp(text, expected));
    struct branch named = {sizeof named | 1u << 24, ""};
    snprintf(expected, sizeof expected, "r%s_00", branch);
    CHECK(NVML("SystemGetDriverBranch", AT(&named), 80, 0) == 0 && !strcmp(named.name, expected));
    CHECK(NVML("SystemGetDriverBranch", AT(&named), 3, 0) == 7 && NVML("SystemGetDriverBranch", 0, 80, 0) == 2);
    named.version = 0;
    CHECK(NVML("SystemGetDriverBranch", AT(&named), 80, 0) == 25);
    for (const char *const *name = (const char *[]){"UnitGetCount", "GetExcludedDeviceCount", "GetBlacklistDeviceCount", "SystemGetHicVersion", 0}; *name; name++) {
        char whole[64];
        snprintf(whole, sizeof whole, "nvml%s", *name);
        number = 7;
        CHECK(call(nvml, whole, AT(&number), 0, 0) == 0 && number == 0 && call(nvml, whole, 0, 0, 0) == 2);
    }
    CHECK(NVML("DeviceGetHandleBySerial", AT("1"), AT(&device), 0) == 6 && NVML("DeviceGetHandleBySerial", 0, AT(&device), 0) == 2);
    CHECK(NVML("SystemGetProcessName", getpid(), AT(text), 96) == 0 && !strcmp(text, argv[0]));
    CHECK(NVML("SystemGetProcessName", getpid(), AT(text), 3) == 0 && strlen(text) == 2);
    CHECK(NVML("SystemGetProcessName", 0, AT(text), 96) == 6);

    CHECK(CUDA("Init", 0, 0, 0) == 0 && NVML("DeviceGetCount_v2", AT(&count), 0, 0) == 0 && count == (unsigned)devices);
    CHECK(NVML("DeviceGetCount_v2", 0, 0, 0) == 2);
    CHECK(NVML("DeviceGetHandleByIndex_v2", devices, AT(&device), 0) == 2 && device == &count);
    CHECK(NVML("DeviceGetName", AT(&count), AT(text), 96) == 2 && NVML("DeviceGetName", 0, AT(text), 96) == 2);
    for (int i = 0; i < devices; i++) {
        char name[96], address[32];
        unsigned char uuid[16];
        void *found = NULL;
        size_t total = 0;
        CHECK(NVML("DeviceGetHandleByIndex_v2", i, AT(&device), 0) == 0);
        CHECK(CUDA("DeviceGetName", AT(expected), 96, i) == 0 && NVML("DeviceGetName", AT(device), AT(name), 96) == 0);
        CHECK(!strcmp(name, expected) && NVML("DeviceGetName", AT(device), AT(name), strlen(name)) == 7);
        CHECK(CUDA("DeviceGetUuid", AT(uuid), i, 0) == 0 && NVML("DeviceGetUUID", AT(device), AT(text), 96) == 0);
        snprintf(expected, sizeof expected, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", uuid[0], uuid[1],
                 uuid[2], uuid[3], uuid[4], uuid[5], uuid[6], uuid[7], uuid[8], uuid[9], uuid[10], uuid[11], uuid[12], uuid[13],
                 uuid[14], uuid[15]);
        CHECK(!strcmp(text, expected));
        CHECK(NVML("DeviceGetHandleByUUID", AT(text), AT(&found), 0) == 0 && found == device);
        found = NULL;
        CHECK(NVML("DeviceGetHandleByUUID", AT(text + 4), AT(&found), 0) == 0 && found == device);
        text[0] = 'g';
        CHECK(NVML("DeviceGetHandleByUUID", AT(text), AT(&found), 0) == 6);
        struct pci pci;
        memset(&pci, 0x55, sizeof pci);
        CHECK(NVML("DeviceGetPciInfo_v2", AT(device), AT(&pci), 0) == 0 && pci.subsystem == 0 && pci.address[0] == 0x55);
        memset(&pci, 0x55, sizeof pci);
        CHECK(NVML("DeviceGetPciInfo", AT(device), AT(&pci), 0) == 0 && pci.product == 0 && pci.subsystem == 0x55555555);
        CHECK(CUDA("DeviceGetPCIBusId", AT(address), 32, i) == 0 && NVML("DeviceGetPciInfo_v3", AT(device), AT(&pci), 0) == 0);
        CHECK(!strcmp(pci.old, address) && !strncmp(pci.address, "0000", 4) && !strcmp(pci.address + 4, address));
        found = NULL;
        CHECK(NVML("DeviceGetHandleByPciBusId_v2", AT(address), AT(&found), 0) == 0 && found == device);
        found = NULL;
        CHECK(NVML("DeviceGetHandleByPciBusId_v2", AT(pci.address), AT(&found), 0) == 0 && found == device);
        struct memory memory;
        CHECK(CUDA("DeviceTotalMem_v2", AT(&total), i, 0) == 0 && NVML("DeviceGetMemoryInfo", AT(device), AT(&memory), 0) == 0);
        CHECK(memory.total == total && memory.used == 0 && memory.free == total);
        CHECK(NVML("DeviceGetIndex", AT(device), AT(&number), 0) == 0 && number == (unsigned)i);
        int major = 0, minor = 0, capability = 0;
        CHECK(NVML("DeviceGetCudaComputeCapability", AT(device), AT(&major), AT(&minor)) == 0);
        CHECK(CUDA("DeviceGetAttribute", AT(&capability), 75, i) == 0 && major == capability);
        CHECK(CUDA("DeviceGetAttribute", AT(&capability), 76, i) == 0 && minor == capability);
        number = other = 7;
        CHECK(NVML("DeviceGetMigMode", AT(device), AT(&number), AT(&other)) == 0 && number == 0 && other == 0);
        CHECK(NVML("DeviceGetMigDeviceHandleByIndex", AT(device), 0, AT(&found)) == 6);
        CHECK(NVML("DeviceIsMigDeviceHandle", AT(device), AT(&number), 0) == 0 && number == 0);
        CHECK(NVML("DeviceGetTemperature", AT(device), 0, AT(&number)) == 3 && NVML("DeviceGetPowerUsage", AT(device), AT(&number), 0) == 3);
        CHECK(NVML("DeviceGetClockInfo", AT(device), 1, AT(&number)) == 0 && number > 100 && number < 10000);
        CHECK(NVML("DeviceGetClockInfo", AT(device), 3, AT(&number)) == 3 && NVML("DeviceGetClockInfo", AT(device), 9, AT(&number)) == 3);
        CHECK(NVML("DeviceGetMaxClockInfo", AT(device), 3, AT(&number)) == 3 && NVML("DeviceGetMaxClockInfo", AT(device), 9, AT(&number)) == 2);
        CHECK(NVML("DeviceGetGpuInstanceId", AT(device), AT(&number), 0) == 2 && NVML("DeviceGetComputeInstanceId", AT(device), AT(&number), 0) == 2);
        struct field fields[2] = {{.field = 1, .result = 77}, {.field = 82, .result = 77}};
        CHECK(NVML("DeviceGetFieldValues", AT(device), 2, AT(fields)) == 0 && fields[0].result == 3 && fields[1].result == 3);
        CHECK(NVML("DeviceGetFieldValues", AT(device), 0, AT(fields)) == 2 && NVML("DeviceGetFieldValues", AT(device), 1, 0) == 2);
    }
    CHECK(NVML("DeviceGetHandleByUUID", AT("GPU-00000000-0000-0000-0000-000000000000"), AT(&device), 0) == 6);
    CHECK(NVML("DeviceGetHandleByPciBusId_v2", AT("0000:FE:06.0"), AT(&device), 0) == 6);
    CHECK(NVML("DeviceGetHandleByPciBusId_v2", AT("nonsense"), AT(&device), 0) == 2);

    /* what this process does */
    void *context = NULL;
    uint64_t pointer = 0;
    struct process processes[2];
    struct memory2 memory;
    struct memory old;
    unsigned rates[2] = {7, 7};
    NVML("DeviceGetHandleByIndex_v2", 0, AT(&device), 0);
    number = 0;
    CHECK(NVML("DeviceGetComputeRunningProcesses_v3", AT(device), AT(&number), 0) == 0 && number == 0);
    CHECK(CUDA("DevicePrimaryCtxRetain", AT(&context), 0, 0) == 0 && CUDA("CtxSetCurrent", AT(context), 0, 0) == 0);
    CHECK(CUDA("MemAlloc_v2", AT(&pointer), 4 << 20, 0) == 0);
    CHECK(NVML("DeviceGetComputeRunningProcesses_v3", AT(device), AT(&number), 0) == 7 && number == 1);
    number = 2;
    CHECK(NVML("DeviceGetComputeRunningProcesses_v3", AT(device), AT(&number), AT(processes)) == 0 && number == 1);
    CHECK(processes[0].pid == (unsigned)getpid() && processes[0].used >= 4 << 20 && processes[0].gpu == 0xffffffff);
    CHECK(NVML("DeviceGetGraphicsRunningProcesses_v3", AT(device), AT(&number), AT(processes)) == 0 && number == 0);
    memory.version = 1;
    CHECK(NVML("DeviceGetMemoryInfo_v2", AT(device), AT(&memory), 0) == 13);
    memory.version = sizeof memory | 2u << 24;
    CHECK(NVML("DeviceGetMemoryInfo_v2", AT(device), AT(&memory), 0) == 0 && memory.used == processes[0].used);
    CHECK(memory.total == memory.reserved + memory.free + memory.used);
    size_t free_bytes = 0, total = 0;
    CHECK(CUDA("MemGetInfo_v2", AT(&free_bytes), AT(&total), 0) == 0 && free_bytes == memory.free && total == memory.total);
    if (devices > 1) {
        void *second = NULL;
        CHECK(NVML("DeviceGetHandleByIndex_v2", 1, AT(&second), 0) == 0);
        CHECK(NVML("DeviceGetMemoryInfo", AT(second), AT(&old), 0) == 0 && old.used == 0);
    }
    CHECK(NVML("DeviceGetUtilizationRates", AT(device), AT(rates), 0) == 0 && rates[0] == 0 && rates[1] == 0);

    CHECK(NVML("Shutdown", 0, 0, 0) == 0 && NVML("DeviceGetCount_v2", AT(&count), 0, 0) == 0);
    CHECK(NVML("Shutdown", 0, 0, 0) == 0 && NVML("DeviceGetCount_v2", AT(&count), 0, 0) == 1);
    printf("done\n");
    return failures != 0;
}
"#;

#[test]
fn devices_are_those_of_the_driver() {
    let machine = Machine::new();
    let program = machine.program("compares.c", COMPARES, &["-ldl"]);
    for (version, number, branch) in
        [("11.4", "11040", "470"), ("12.8", "12080", "570"), ("13.0", "13000", "580")]
    {
        for devices in ["1", "3"] {
            let options = ["--cuda", version, "--devices", devices, "--memory", "64M"];
            let output = machine.run(&[&options[..], &[program.as_str(), devices, number, branch]].concat());
            assert_eq!((output.status, output.out.as_str()), (Some(0), "done\n"), "{output:?}");
        }
    }
    machine.is_empty();
}

/// Work that is not done is seen; a machine without devices; a device that the process does not see is there all the same.
#[test]
fn work_and_machines_without_devices() {
    let machine = Machine::new();
    let source = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int open_now;
static void wait_here(void *data) { (void)data; while (!open_now) usleep(1000); }
int main(void) {
    void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW), *cuda = dlopen("libcuda.so.1", RTLD_NOW);
    int (*f)(uint64_t, ...) = 0;
    unsigned count = 7, rates[2] = {7, 7};
    void *device = 0, *context = 0;
#define F(library, name) (*(void **)&f = dlsym(library, name), f)
    int begun = F(nvml, "nvmlInit_v2")(0);
    int anyhow = F(nvml, "nvmlInitWithFlags")(1);
    F(nvml, "nvmlDeviceGetCount_v2")((uint64_t)(uintptr_t)&count);
    printf("%d %d %u\n", begun, anyhow, count);
    if (count == 0) return 0;
    int (*host)(void *, void (*)(void *), void *) = 0;
    F(cuda, "cuInit")(0);
    if (F(cuda, "cuDevicePrimaryCtxRetain")((uint64_t)(uintptr_t)&context, 0)) return 4;
    F(cuda, "cuCtxSetCurrent")((uint64_t)(uintptr_t)context);
    *(void **)&host = dlsym(cuda, "cuLaunchHostFunc");
    if (host(0, wait_here, 0)) return 5;
    F(nvml, "nvmlDeviceGetHandleByIndex_v2")(1, &device);
    F(nvml, "nvmlDeviceGetUtilizationRates")((uint64_t)(uintptr_t)device, rates);
    printf("%u\n", rates[0]);
    open_now = 1;
    F(cuda, "cuCtxSynchronize")(0);
    F(nvml, "nvmlDeviceGetUtilizationRates")((uint64_t)(uintptr_t)device, rates);
    printf("%u\n", rates[0]);
    return 0;
}
"#;
    let program = machine.program("works.c", source, &["-ldl"]);
    let output = machine.run(&["--devices=0", &program]);
    assert_eq!(output.out, "28 0 0\n", "{output:?}");
    let mut command = machine.command(&["--devices=2", &program]);
    command.env("CUDA_VISIBLE_DEVICES", "1");
    let output = common::output(command);
    assert_eq!(output.out, "0 0 2\n100\n0\n", "{output:?}");
}

/// The package that programs in Python use, where it is there.
#[test]
fn python_s_package_works() {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/python");
    if !packages.join("pynvml.py").exists() {
        let all = std::env::var("CUSHIM_REQUIRE").is_ok_and(|required| required == "all");
        assert!(!all, "pip install --target target/python nvidia-ml-py");
        return;
    }
    let script = r#"
import os, pynvml as n
n.nvmlInit()
assert n.nvmlSystemGetDriverVersion() == "550.00.00" and n.nvmlSystemGetCudaDriverVersion() == 12040
assert n.nvmlDeviceGetCount() == 2
for i in range(2):
    d = n.nvmlDeviceGetHandleByIndex(i)
    assert n.nvmlDeviceGetName(d) == f"softcuda device {i} (no GPU)"
    assert n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByUUID(n.nvmlDeviceGetUUID(d))) == i
    assert n.nvmlDeviceGetMemoryInfo(d).total == n.nvmlDeviceGetMemoryInfo(d, n.nvmlMemory_v2).total == 256 << 20
    assert n.nvmlDeviceGetPciInfo(d).bus == i and n.nvmlDeviceGetPciInfo(d).busId == f"00000000:{i:02X}:06.0"
    assert n.nvmlDeviceGetUtilizationRates(d).gpu == 0
    assert n.nvmlDeviceGetComputeRunningProcesses(d) == [] and n.nvmlDeviceGetGraphicsRunningProcesses(d) == []
    assert n.nvmlDeviceGetMigMode(d) == [0, 0] and n.nvmlDeviceGetCudaComputeCapability(d) == (9, 0)
    assert n.nvmlDeviceGetArchitecture(d) == n.NVML_DEVICE_ARCH_HOPPER
    for refused in [n.nvmlDeviceGetPowerUsage, n.nvmlDeviceGetFanSpeed, lambda d: n.nvmlDeviceGetTemperature(d, 0)]:
        try: refused(d); raise SystemExit("it answers")
        except n.NVMLError_NotSupported: pass
assert n.nvmlSystemGetProcessName(os.getpid())
try: n.nvmlDeviceGetHandleByIndex(2); raise SystemExit("there are two")
except n.NVMLError_InvalidArgument: pass
try: n._nvmlGetFunctionPointer("nvmlOfTheFuture"); raise SystemExit("it is not there")
except n.NVMLError_FunctionNotFound: pass
n.nvmlShutdown()
print("done")
"#;
    let machine = Machine::new();
    let mut command =
        machine.command(&["--cuda=12.4", "--devices=2", "--memory=256M", "python3", "-c", script]);
    command.env("PYTHONPATH", packages);
    let output = common::output(command);
    assert_eq!((output.status, output.out.as_str()), (Some(0), "done\n"), "{output:?}");
}
