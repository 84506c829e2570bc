//! Which parameters a kernel only reads, by its name: that of a C++ function has its types (Itanium C++ ABI), and a pointer to `const` is
//! read. A kernel that casts that away is not seen.

/// Longer names are not looked at: each letter may lie in the one before.
const LONGEST: usize = 1000;

/// Whether the parameter of this number is a pointer to `const`. Not for a kernel that is `extern "C"`, nor where the name has what is not
/// understood here.
pub(crate) fn reads_only(kernel: &str, index: usize) -> bool {
    let Some(rest) = kernel.strip_prefix("_Z").filter(|rest| rest.len() <= LONGEST) else { return false };
    Names { rest, known: Vec::new() }.parameters().get(index).copied().unwrap_or(false)
}

/// A name, from some place on. Of all that can be repeated by number is known whether it is a pointer to `const`, and whether `const`.
struct Names<'a> {
    rest: &'a str,
    known: Vec<Type>,
}

#[derive(Clone, Copy, Default)]
struct Type {
    is_const: bool,
    points_to_const: bool,
}

impl Names<'_> {
    /// For each parameter, as far as the name is understood, whether it is a pointer to `const`.
    fn parameters(mut self) -> Vec<bool> {
        let mut all = Vec::new();
        if self.function().is_none() {
            return all;
        }
        while !self.rest.is_empty() {
            let Some(next) = self.next_type() else { break };
            all.push(next.points_to_const);
        }
        all
    }

    fn take(&mut self, start: &str) -> bool {
        let rest = self.rest.strip_prefix(start);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// The name of the function, and, of a template, its arguments and what it returns.
    fn function(&mut self) -> Option<()> {
        let mut is_template = false;
        if self.take("N") {
            while !self.take("E") {
                is_template = self.part(true)?;
            }
            // The function itself is not repeated.
            self.known.pop();
        } else {
            self.source_name()?;
            if self.rest.starts_with('I') {
                self.known.push(Type::default());
                self.template_arguments()?;
                is_template = true;
            }
        }
        if is_template {
            self.next_type()?;
        }
        Some(())
    }

    /// A part of a nested name; answers whether it ended with arguments of a template.
    fn part(&mut self, is_known: bool) -> Option<bool> {
        if self.rest.starts_with('I') {
            self.template_arguments()?;
            self.known.push(Type::default());
            return Some(true);
        }
        if !self.take("12_GLOBAL__N_1") {
            self.source_name()?;
        }
        if is_known {
            self.known.push(Type::default());
        }
        Some(false)
    }

    fn source_name(&mut self) -> Option<()> {
        let digits = self.rest.find(|c: char| !c.is_ascii_digit())?;
        let length: usize = self.rest[..digits].parse().ok()?;
        self.rest = self.rest.get(digits.checked_add(length)?..)?;
        Some(())
    }

    fn template_arguments(&mut self) -> Option<()> {
        self.take("I").then_some(())?;
        while !self.take("E") {
            if self.take("L") {
                // A value, of a type of one letter.
                self.rest = &self.rest[self.rest.find('E')? + 1..];
            } else {
                self.next_type()?;
            }
        }
        Some(())
    }

    fn next_type(&mut self) -> Option<Type> {
        let first = self.rest.chars().next()?;
        if first == 'S' {
            return self.repeated();
        }
        if "vwbcahstijlmxynofdegz".contains(first) {
            self.rest = &self.rest[1..];
            return Some(Type::default());
        }
        let found = match first {
            'P' => {
                self.rest = &self.rest[1..];
                Type { points_to_const: self.next_type()?.is_const, is_const: false }
            }
            // `volatile` and `restrict` stand before `const`, and are one with it.
            'r' | 'V' | 'K' => {
                let is_const = self.qualifiers();
                Type { is_const, ..self.next_type()? }
            }
            'T' => {
                let end = self.rest.find('_')? + 1;
                self.rest = &self.rest[end..];
                Type::default()
            }
            'N' => {
                self.rest = &self.rest[1..];
                while !self.take("E") {
                    self.part(true)?;
                }
                return Some(Type::default());
            }
            '0'..='9' => {
                self.source_name()?;
                if self.rest.starts_with('I') {
                    self.known.push(Type::default());
                    self.template_arguments()?;
                }
                Type::default()
            }
            _ => return None,
        };
        self.known.push(found);
        Some(found)
    }

    fn qualifiers(&mut self) -> bool {
        let end = self.rest.find(|c: char| !"rVK".contains(c)).unwrap_or(self.rest.len());
        let is_const = self.rest[..end].contains('K');
        self.rest = &self.rest[end..];
        is_const
    }

    /// What came before, by its number, in base 36.
    fn repeated(&mut self) -> Option<Type> {
        let end = self.rest.find('_')?;
        let number = match &self.rest[1..end] {
            "" => 0,
            digits if digits.bytes().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit()) => {
                usize::from_str_radix(digits, 36).ok()? + 1
            }
            _ => return None,
        };
        self.rest = &self.rest[end + 1..];
        let found = self.known.get(number).copied()?;
        if !self.rest.starts_with('I') {
            return Some(found);
        }
        self.template_arguments()?;
        self.known.push(Type::default());
        Some(Type::default())
    }
}

#[cfg(test)]
mod tests {
    use super::reads_only;

    #[test]
    fn names_that_nobody_wrote_end() {
        let deep = format!("_Z1f{}Kf", "P".repeat(100_000));
        for name in [&deep, "_Z18446744073709551615f", "_Z1fILi", "_ZN", "_Z1fS", "_Z1fSé_", "_Zé", "_Z1fTé"]
        {
            assert!(!reads_only(name, 0), "{}", &name[..8.min(name.len())]);
        }
    }

    #[test]
    fn pointers_to_const_are_read() {
        for (name, reads) in [
            // void add(const float *, const float *, float *, int)
            ("_Z3addPKfS0_Pfi", &[true, true, false, false][..]),
            ("_Z4copyPfPKf", &[false, true]),
            // const volatile and __restrict__ say no less
            ("_Z4loadPVKfPf", &[true, false]),
            // template <class T> void add(const T *, const T *, T *), of float
            ("_Z3addIfEvPKT_S2_PS0_", &[true, true, false]),
            ("_Z3addIfLi4EEvPKT_PS0_i", &[true, false, false]),
            // void ns::scale(const double *, double *)
            ("_ZN2ns5scaleEPKdPd", &[true, false]),
            ("_ZN12_GLOBAL__N_15scaleEPKdPd", &[true, false]),
            // template <class T> void ns::t(const T *, T *), of int
            ("_ZN2ns1tIiEEvPKT_PS1_", &[true, false]),
            // void v(View<const float>, const float *, View<float> *, const View<float> *)
            ("_Z1v4ViewIKfEPS0_PS_IfEPKS3_", &[false, true, false, true]),
            // void use(const Pair *, Pair *)
            ("_Z3usePK4PairPS_", &[true, false]),
            ("add", &[false, false]),
            // What is not understood ends what is known.
            ("_Z3runPFvvEPKf", &[false, false]),
            ("_Z", &[false]),
        ] {
            for (index, reads) in reads.iter().enumerate() {
                assert_eq!(reads_only(name, index), *reads, "{name}, parameter {index}");
            }
        }
    }
}
