import type { FlowSelector, FlowTerm } from '@orrery/contract';

/** Which flows are to move, as it is typed; an empty field matches all. */
export interface FlowDraft {
  readonly src: string;
  readonly dst: string;
  readonly proto: string;
  readonly srcPorts: string;
  readonly dstPorts: string;
}

export const ALL_FLOWS: FlowDraft = { src: '', dst: '', proto: '', srcPorts: '', dstPorts: '' };

/** The selector, or what is wrong with a field. */
export interface ReadDraft {
  readonly flows: FlowSelector;
  readonly errors: Partial<Record<keyof FlowDraft, string>>;
}

export function readFlowDraft(draft: FlowDraft): ReadDraft {
  const match: FlowTerm[] = [];
  const errors: ReadDraft['errors'] = {};
  const prefix = (field: 'ip.src' | 'ip.dst', name: 'src' | 'dst') => {
    const text = draft[name].trim();
    if (text === '') return;
    const whole = text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`;
    if (/^[0-9a-fA-F:.]+\/\d{1,3}$/.test(whole)) match.push({ field, prefix: whole, not: false });
    else errors[name] = 'An address or a prefix such as 10.0.1.0/24';
  };
  const ports = (field: 'port.src' | 'port.dst', name: 'srcPorts' | 'dstPorts') => {
    const text = draft[name].trim();
    if (text === '') return;
    const [, first, last = first] = /^(\d{1,5})(?:\s*-\s*(\d{1,5}))?$/.exec(text) ?? [];
    const [lo, hi] = [Number(first), Number(last)];
    if (first !== undefined && lo <= hi && hi <= 65_535) match.push({ field, lo, hi, not: false });
    else errors[name] = 'A port such as 80, or a range such as 8000-8099';
  };
  prefix('ip.src', 'src');
  prefix('ip.dst', 'dst');
  if (draft.proto !== '') match.push({ field: 'ip.proto', value: Number(draft.proto), not: false });
  ports('port.src', 'srcPorts');
  ports('port.dst', 'dstPorts');
  return { flows: { match }, errors };
}
