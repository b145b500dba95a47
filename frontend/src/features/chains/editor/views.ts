/** How the editor shows a chain; the address holds it as `view`. */
export const VIEWS = ['canvas', 'split', 'yaml'] as const;
export type View = (typeof VIEWS)[number];
