//! `CUDA_VISIBLE_DEVICES`: which devices the process sees, and in which order.

use super::complain::complain;
use super::environment::of_driver;

const VARIABLE: &str = "CUDA_VISIBLE_DEVICES";
const PREFIX: &str = "GPU-";

/// The numbers of the devices that are visible, of so many; and whether there are none because one was named twice, which `cuInit` answers
/// otherwise. That none is left is said on the standard error stream.
pub(super) fn devices(count: usize) -> (Vec<usize>, bool) {
    let Some(list) = of_driver(VARIABLE) else { return ((0..count).collect(), false) };
    let visible = select(&list, count);
    let none = |why: String| complain(&format!("{VARIABLE}={list} leaves no device visible: {why}"));
    match &visible {
        Some(visible) if visible.is_empty() && count > 0 => none(format!(
            "there are {count}, from 0 to {}, and the list ends with the first that is none of them; cuInit answers \
             CUDA_ERROR_NO_DEVICE",
            count - 1
        )),
        None => none("it names one twice; cuInit answers CUDA_ERROR_INVALID_DEVICE".to_owned()),
        Some(_) => {}
    }
    let named_twice = visible.is_none();
    (visible.unwrap_or_default(), named_twice)
}

/// What a list leaves: it ends before the first entry that is no device. `None` if it names a device twice. The first entry decides whether
/// all are numbers or UUIDs. (All of it measured on driver 580, but for UUIDs that begin alike, of which it had none.)
fn select(list: &str, count: usize) -> Option<Vec<usize>> {
    let by = if list.starts_with(PREFIX) { by_uuid } else { by_number };
    let mut visible = Vec::new();
    for device in list.split(',').map_while(|entry| by(entry, count)) {
        if visible.contains(&device) {
            return None;
        }
        visible.push(device);
    }
    Some(visible)
}

/// Of a number that takes more, its lower 32 bits count (measured on driver 580).
fn by_number(entry: &str, count: usize) -> Option<usize> {
    number(entry).and_then(|number| usize::try_from(number as i32).ok()).filter(|&device| device < count)
}

/// The number that a text begins with, as C reads one; what comes after it does not matter.
pub(super) fn number(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let length = digits.find(|other: char| !other.is_ascii_digit()).unwrap_or(digits.len());
    text[..text.len() - digits.len() + length].parse().ok()
}

/// By so much of the UUID that only one device has it, in either case; what comes after a whole one does not matter.
fn by_uuid(entry: &str, count: usize) -> Option<usize> {
    let entry = entry.strip_prefix(PREFIX).filter(|entry| !entry.is_empty())?.to_ascii_lowercase();
    let is_meant = |device: &usize| {
        let uuid = uuid_text(*device);
        let uuid = &uuid[PREFIX.len()..];
        uuid.starts_with(&entry) || entry.starts_with(uuid)
    };
    let mut meant = (0..count).filter(is_meant);
    meant.next().filter(|_| meant.next().is_none())
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
    format!("{PREFIX}{}", groups.map(hex).join("-"))
}

#[cfg(test)]
mod tests {
    use super::{number, select, uuid_text};

    #[test]
    fn lists() {
        for (list, visible) in [
            ("0", &[0][..]),
            ("2,0", &[2, 0]),
            (" 1 , 2 ", &[1, 2]),
            ("1gpu,2gpu", &[1, 2]),
            ("0x1", &[0]),
            ("0-1", &[0]),
            ("0;1", &[0]),
            ("00", &[0]),
            ("+1", &[1]),
            ("0,", &[0]),
            ("", &[]),
            ("-1", &[]),
            ("NoDevFiles", &[]),
            ("0,-1,1", &[0]),
            ("0,4,0", &[0]),
            ("0,,1", &[0]),
            (",0", &[]),
            ("4,0", &[]),
            ("4294967297", &[1]),
            ("4294967295", &[]),
            ("99999999999999999999", &[]),
            ("GPU-", &[]),
            ("gpu-736f6674", &[]),
            (" GPU-736f6674-6375-6461-2064-657669636500", &[]),
            ("GPU-736f6674", &[]),
        ] {
            assert_eq!(select(list, 4).as_deref(), Some(visible), "{list:?}");
        }
        assert_eq!(select("0,1,0", 4), None);
        assert_eq!(select("GPU-736f6674", 1).as_deref(), Some(&[0][..]), "only one has it");
        assert_eq!(select("GPU-", 1).as_deref(), Some(&[][..]));
    }

    #[test]
    fn identities() {
        let [one, three] = [1, 3].map(uuid_text);
        assert_eq!(three, "GPU-736f6674-6375-6461-2064-657669636503");
        for (list, visible) in [
            (format!("{three},{one}"), &[3, 1][..]),
            (three.replace('f', "F"), &[3]),
            (format!("{three} ,{one}0"), &[3, 1]),
            (format!("{three},0"), &[3]),
            (format!("0,{three}"), &[0]),
            (format!("{three},GPU-ffffffff,{one}"), &[3]),
        ] {
            assert_eq!(select(&list, 4).as_deref(), Some(visible), "{list}");
        }
        assert_eq!(select(&format!("{three},{three}"), 4), None);
    }

    #[test]
    fn numbers() {
        for (text, value) in
            [("1", Some(1)), ("01", Some(1)), (" 1", Some(1)), ("-1", Some(-1)), ("1x", Some(1))]
        {
            assert_eq!(number(text), value, "{text:?}");
        }
        for text in ["", "yes", "+", "-"] {
            assert_eq!(number(text), None, "{text:?}");
        }
    }
}
