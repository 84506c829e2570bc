//! Faults on demand, and counting.

use crate::common::{
    INVALID_VALUE, Library, NOT_SUPPORTED, OUT_OF_MEMORY, SYSTEM_NOT_READY, alone, at, shell_path,
    with_context,
};

const ILLEGAL_ADDRESS: i32 = 700;
const UNKNOWN: i32 = 999;

#[test]
fn the_nth_call_fails_and_has_no_effect() {
    alone("the_nth_call_fails_and_has_no_effect", &[], || {
        let cu = with_context();
        assert_eq!(cu.fault_set("cuMemAlloc#2=2"), 0);
        let results: Vec<i32> = (0..4).map(|_| cu.allocate(64).0).collect();
        assert_eq!(results, [0, OUT_OF_MEMORY, 0, 0]);
        assert_eq!(cu.fault_hits(), 1);
        assert_eq!(cu.live("device memory"), 3);
        let (_, pointer) = cu.allocate(64);
        assert_eq!(cu.fault_set("cuMemFree_v2#1=999"), 0);
        assert_eq!(cu.fault_hits(), 0, "setting counts anew");
        assert_eq!(cu.call("cuMemFree_v2", &[pointer]), UNKNOWN);
        assert_eq!(cu.call("softcuda_is_live", &[pointer]), 1, "the call did nothing");
        assert_eq!(cu.call("cuMemFree_v2", &[pointer]), 0);
    });
}

#[test]
fn patterns_variants_and_several_rules() {
    alone("patterns_variants_and_several_rules", &[], || {
        let cu = with_context();
        let mut out = [0u64; 4];
        let place = at(&mut out);
        assert_eq!(
            cu.fault_set("cuMemcpy#2+=1"),
            0,
            "all ABIs and variants of a base name are counted together"
        );
        let (_, pointer) = cu.allocate(64);
        assert_eq!(cu.call("cuMemcpy", &[pointer, place, 8]), 0);
        assert_eq!(cu.call("cuMemcpy_ptds", &[pointer, place, 8]), INVALID_VALUE);
        assert_eq!(cu.call("cuMemcpy", &[pointer, place, 8]), INVALID_VALUE);
        assert_eq!(cu.call("cuMemcpyHtoD_v2", &[pointer, place, 8]), 0, "another base name");
        assert_eq!(cu.fault_hits(), 2);

        // Both rules count every call that they fit; the first one whose turn it is decides.
        assert_eq!(cu.fault_set("cuMem*Info_v2#3=801; *#2=2; cuMemGetInfo=999"), 0);
        let results: Vec<i32> = (0..4).map(|_| cu.call("cuMemGetInfo_v2", &[place, place])).collect();
        assert_eq!(results, [UNKNOWN, OUT_OF_MEMORY, NOT_SUPPORTED, UNKNOWN]);
        assert_eq!(cu.fault_hits(), 4);

        cu.call("softcuda_fault_clear", &[]);
        assert_eq!(cu.call("cuMemGetInfo_v2", &[place, place]), 0);
        assert_eq!(cu.fault_hits(), 4, "what they did stays known");
        assert_eq!(cu.fault_set(""), 0);
        assert_eq!(cu.call("softcuda_fault_set", &[0]), 0, "NULL is none");
        assert_eq!(cu.fault_hits(), 0);
    });
}

/// What a program asks about the driver is left alone by patterns, and can be named.
#[test]
fn questions_about_the_driver() {
    alone("questions_about_the_driver", &[("SOFTCUDA_FAULT", "*=999")], || {
        let cu = Library::core();
        let (mut version, mut pointer) = (0, 0u64);
        let mut ask = |name: &str| match name {
            "cuDriverGetVersion" => cu.call(name, &[at(&mut version)]),
            _ => cu.call(name, &[c"cuInit".as_ptr() as u64, at(&mut pointer), 12000, 0, 0]),
        };
        assert_eq!((ask("cuDriverGetVersion"), ask("cuGetProcAddress_v2")), (0, 0));
        assert_eq!(cu.call("cuInit", &[0]), UNKNOWN);
        assert_eq!(cu.call("cuCtxGetCurrent", &[0]), UNKNOWN, "before what the call itself would refuse");
        assert_eq!(cu.call("cuTexRefCreate", &[0]), UNKNOWN, "also where softcuda has no such function");
        assert_eq!(cu.fault_set("cuDriverGetVersion=999; cuGetProcAddress=500"), 0);
        assert_eq!((ask("cuDriverGetVersion"), ask("cuGetProcAddress_v2")), (UNKNOWN, 500));
    });
}

#[test]
fn faults_from_the_environment_reach_calls_through_a_shell() {
    let variables = [("SOFTCUDA_FAULT", " cuInit#1=100 ; cuMemAlloc*#2=2 ")];
    alone("faults_from_the_environment_reach_calls_through_a_shell", &variables, || {
        let cu = Library::open(&shell_path("12.2"));
        assert_eq!(cu.call("cuInit", &[0]), 100);
        assert_eq!(cu.call("cuInit", &[0]), 0);
        let mut context = 0u64;
        assert_eq!(cu.call("cuCtxCreate_v2", &[at(&mut context), 0, 0]), 0);
        assert_eq!((cu.allocate(64).0, cu.allocate(64).0, cu.allocate(64).0), (0, OUT_OF_MEMORY, 0));
        assert_eq!(Library::core().fault_hits(), 2);
    });
}

/// The context is lost with it; what is not about a context goes on.
#[test]
fn a_sticky_fault() {
    alone("a_sticky_fault", &[("SOFTCUDA_FAULT", "cuMemAlloc#2=700/sticky")], || {
        let cu = with_context();
        let (_, pointer) = cu.allocate(64);
        assert_eq!(cu.allocate(64).0, ILLEGAL_ADDRESS);
        assert_eq!(cu.call("cuMemFree_v2", &[pointer]), ILLEGAL_ADDRESS);
        assert_eq!(cu.call("cuCtxSynchronize", &[]), ILLEGAL_ADDRESS);
        let mut count = 0;
        assert_eq!(cu.call("cuDeviceGetCount", &[at(&mut count)]), 0);
        assert_eq!(cu.fault_hits(), 1);
    });
}

#[test]
fn a_text_that_cannot_be_read_is_refused() {
    alone("a_text_that_cannot_be_read_is_refused", &[], || {
        let cu = with_context();
        assert_eq!(cu.message(), "");
        assert_eq!(cu.fault_set("cuMemAlloc#1=2"), 0);
        assert_eq!(cu.fault_set("cuMemFree=1; cuMemAlock#1=2"), INVALID_VALUE);
        let said = cu.message();
        assert!(
            said.contains(
                "`cuMemAlock#1=2` cannot be read: no function of the driver is called `cuMemAlock`"
            ),
            "{said}"
        );
        assert_eq!(cu.allocate(64).0, OUT_OF_MEMORY, "the faults stay as they were");
        let bytes = b"cuMemAlloc=\xff\0";
        assert_eq!(cu.call("softcuda_fault_set", &[bytes.as_ptr() as u64]), INVALID_VALUE);
        assert_eq!(cu.message(), "the text is not UTF-8");
    });
    let said = alone("a_text_that_cannot_be_read_is_refused", &[("SOFTCUDA_FAULT", "cuInit=")], || {
        let cu = Library::core();
        assert_eq!(cu.call("cuInit", &[0]), SYSTEM_NOT_READY);
        assert_eq!(cu.fault_set("cuInit=1"), SYSTEM_NOT_READY);
        assert!(cu.message().contains("the environment asks for something impossible"));
        assert_eq!(cu.call_count("cuInit"), -1);
    });
    if !said.is_empty() {
        assert_eq!(said.matches("softcuda: ").count(), 1, "{said}");
        assert!(
            said.contains(
                "SOFTCUDA_FAULT=cuInit= is not a list of faults: the fault `cuInit=` cannot be read"
            ),
            "{said}"
        );
        assert!(said.contains("every call answers an error"), "{said}");
    }
}

#[test]
fn calls_are_counted() {
    alone("calls_are_counted", &[], || {
        let cu = with_context();
        let mut version = 0;
        assert_eq!(cu.call("cuDriverGetVersion", &[at(&mut version)]), 0);
        assert_eq!(cu.call_count("*"), 3, "cuInit, retain and set current");
        assert_eq!(cu.call_count("cuDriverGetVersion"), 1);
        cu.call("softcuda_calls_reset", &[]);
        assert_eq!(cu.call_count("*"), 0);
        cu.allocate(64);
        cu.allocate(0);
        assert_eq!(cu.call("cuMemAlloc", &[0, 0]), NOT_SUPPORTED);
        assert_eq!(cu.fault_set("*=2"), 0);
        cu.allocate(64);
        assert_eq!((cu.call_count("cuMemAlloc"), cu.call_count("cuMemAlloc_v2")), (4, 3), "failures count");
        assert_eq!((cu.call_count("cuMem*"), cu.call_count("cuMemFree")), (4, 0));
        assert_eq!(cu.call_count("cuMemAlock"), -1);
        assert_eq!(cu.message(), "no function of the driver is called `cuMemAlock`");
        assert_eq!(cu.call_wide("softcuda_call_count", &[0]) as i64, -1);
        assert_eq!(cu.message(), "a text is needed, not NULL");
    });
}

/// Each number is some thread's, and only one's.
#[test]
fn threads_share_a_fault() {
    alone("threads_share_a_fault", &[], || {
        let cu = with_context();
        assert_eq!(cu.fault_set("cuDeviceGetCount#500=999"), 0);
        cu.call("softcuda_calls_reset", &[]);
        let failed = std::thread::scope(|scope| {
            let work = || (0..250).filter(|_| cu.call("cuDeviceGetCount", &[at(&mut 0)]) != 0).count();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(|thread| thread.join().expect("it ends")).sum::<usize>()
        });
        assert_eq!((failed, cu.fault_hits(), cu.call_count("cuDeviceGetCount")), (1, 1, 1000));
    });
}
