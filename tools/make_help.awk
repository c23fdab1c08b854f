# SPDX-License-Identifier: BSD-2-Clause
# What `make help' prints: of each target the comment in front of its rule, "#: THEME: text", by theme. A comment may go on in further lines "#:   text".

BEGIN {
    count = split("use test figures more", order, " ")
    title["use"] = "To use it"
    title["test"] = "To test it"
    title["figures"] = "To measure it anew"
    title["more"] = "Parts of those, and what is seldom needed"
}

/^#:   / { text = text "\n" sprintf("%-20s", "") substr($0, 6); next }
/^#: / { theme = $2; sub(":", "", theme); text = $0; sub(/^#: [a-z]+: /, "", text); next }
/^[a-z-]+:/ && text != "" {
    name = $1
    sub(/:.*/, "", name)
    lines[theme] = lines[theme] sprintf("  make %-13s%s\n", name, (length(name) > 12 ? " " : "") text)
    text = ""
}

END {
    for (i = 1; i <= count; i++) {
        printf "%s%s:\n%s", (i > 1 ? "\n" : ""), title[order[i]], lines[order[i]]
    }
}
