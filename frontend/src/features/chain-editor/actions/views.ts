/** How the editor shows a chain; kept in the URL as `view`. */
export const VIEWS = ['canvas', 'split', 'yaml'] as const;
export type View = (typeof VIEWS)[number];
