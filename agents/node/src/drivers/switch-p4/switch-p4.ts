import { p4SwitchKind } from '../p4-switch/p4-switch-kind.js';

/** The built-in P4 switch (`agents/p4`), or any other that takes BMv2 JSON by P4Runtime. */
export const switchP4 = p4SwitchKind('p4', 'Built-in P4 switch', { traces: true });
