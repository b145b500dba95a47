/** How a switch matches an attribute, as its abilities tell it. */
export const masked = { kind: 'mask', negation: false } as const;
export const exact = { kind: 'exact', negation: false } as const;
export const range = { kind: 'range', negation: false } as const;
