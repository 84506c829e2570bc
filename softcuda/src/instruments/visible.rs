//! `CUDA_VISIBLE_DEVICES`: which devices the process sees, and in which order.

use super::complain::complain;
use super::environment::of_driver;

const VARIABLE: &str = "CUDA_VISIBLE_DEVICES";

/// The numbers of the devices that are visible, of so many. That none is left is said on the standard error stream.
pub(super) fn devices(count: usize) -> Vec<usize> {
    let Some(list) = of_driver(VARIABLE) else { return (0..count).collect() };
    let visible = select(&list, count);
    if visible.is_empty() && count > 0 {
        complain(&format!(
            "{VARIABLE}={list} leaves no device visible; there are {count}, from 0 to {}, and the list ends with the first \
             that is none of them; cuInit answers CUDA_ERROR_NO_DEVICE",
            count - 1
        ));
    }
    visible
}

/// What a list leaves: it ends before the first entry that is no device, and one that names a device twice leaves none.
fn select(list: &str, count: usize) -> Vec<usize> {
    let mut visible = Vec::new();
    for device in list.split(',').map_while(|entry| device(entry.trim(), count)) {
        if visible.contains(&device) {
            return Vec::new();
        }
        visible.push(device);
    }
    visible
}

/// The device that an entry names: by the number that it begins with, or by so much of the UUID that only one has it.
fn device(entry: &str, count: usize) -> Option<usize> {
    if entry.starts_with("GPU-") {
        let mut named = (0..count).filter(|&device| uuid_text(device).starts_with(entry));
        return named.next().filter(|_| named.next().is_none());
    }
    let digits = entry.find(|other: char| !other.is_ascii_digit()).unwrap_or(entry.len());
    entry[..digits].parse().ok().filter(|&device: &usize| device < count)
}

/// The identity of a device, whichever ordinal it has.
pub(crate) fn uuid(device: usize) -> [u8; 16] {
    let mut bytes = *b"softcuda device\0";
    bytes[15] = device as u8;
    bytes
}

/// The same as people write it: `GPU-`, and groups of four, two, two, two and six bytes.
fn uuid_text(device: usize) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let bytes = uuid(device);
    let groups = [&bytes[..4], &bytes[4..6], &bytes[6..8], &bytes[8..10], &bytes[10..]];
    format!("GPU-{}", groups.map(hex).join("-"))
}

#[cfg(test)]
mod tests {
    use super::{select, uuid_text};

    #[test]
    fn lists() {
        for (list, visible) in [
            ("0", &[0][..]),
            ("2,0", &[2, 0]),
            (" 1 , 2 ", &[1, 2]),
            ("1gpu,2gpu", &[1, 2]),
            ("00", &[0]),
            ("", &[]),
            ("-1", &[]),
            ("NoDevFiles", &[]),
            ("0,-1,1", &[0]),
            ("0,4,1", &[0]),
            ("0,,1", &[0]),
            ("4,0", &[]),
            ("0,1,0", &[]),
            ("99999999999999999999", &[]),
            ("GPU-", &[]),
            ("GPU-736f6674", &[]),
        ] {
            assert_eq!(select(list, 4), visible, "{list:?}");
        }
        assert_eq!(select("GPU-736f6674", 1), [0], "only one has it");
    }

    #[test]
    fn identities() {
        assert_eq!(uuid_text(3), "GPU-736f6674-6375-6461-2064-657669636503");
        let list = format!("{},0,{}", uuid_text(3), uuid_text(1));
        assert_eq!(select(&list, 4), [3, 0, 1]);
        assert_eq!(select(&format!("{0},{0}", uuid_text(3)), 4), []);
        assert_eq!(select(&format!("3,{}", uuid_text(3)), 4), []);
        assert_eq!(select(&format!("1,{}0", uuid_text(3)), 4), [1]);
    }
}
