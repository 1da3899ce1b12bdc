// The words of a text, as a set.

export const words = text => new Set(text.trim().split(/\s+/))
