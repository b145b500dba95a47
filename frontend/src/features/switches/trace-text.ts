import type { PacketTrace, TraceStep } from '@orrery/contract';

/** A value of a key or an argument as people write it; `name` tells addresses apart from numbers. */
export function valueText(name: string, value: string): string {
  if (!/^0x[0-9a-f]+$/i.test(value)) return value;
  const number = BigInt(value);
  if (isMac(name, number) && number < 1n << 48n) return octets(number, 6, 16, ':');
  if (/(^|[._])ip(v4)?[._](src|dst)(_?addr)?$/i.test(name) && number < 1n << 32n) return octets(number, 4, 10, '.');
  if (/(^|[._])(eth|ether)_type$/.test(name)) return `0x${number.toString(16).padStart(4, '0')}`;
  return number < 1n << 32n ? number.toString() : value;
}

/** The next hop of a program is a MAC address where an IPv4 address does not hold it. */
function isMac(name: string, number: bigint): boolean {
  if (/(^|[._])next_?hop$/i.test(name)) return number >= 1n << 32n;
  return /(^|[._])((src|dst|source|destination)?_?mac(_?addr)?|eth(ernet)?[._](src|dst)(_?addr)?)$/i.test(name);
}

function octets(number: bigint, count: number, radix: number, between: string): string {
  return Array.from({ length: count }, (_, i) => Number((number >> BigInt(8 * (count - 1 - i))) & 0xffn))
    .map((octet) => octet.toString(radix).padStart(radix === 16 ? 2 : 1, '0'))
    .join(between);
}

/** What became of the packet, in a few words. */
export function outcomeText({ steps }: PacketTrace): string {
  const sent = steps.flatMap((one) => (one.step === 'sent' ? [one.port] : []));
  const dropped = steps.flatMap((one) => (one.step === 'dropped' ? [reasonText(one.reason)] : []));
  if (sent.length > 0) return `to ${[...new Set(sent)].join(', ')}`;
  return dropped.length > 0 ? `dropped: ${[...new Set(dropped)].join(', ')}` : 'no outcome';
}

/** `mark_to_drop` is the action by which a v1model program drops. */
const reasonText = (reason: string) => (reason === 'mark_to_drop' ? 'by the program' : reason.replaceAll('_', ' '));

export interface PhasedStep {
  readonly step: TraceStep;
  /** Set where a phase begins. */
  readonly phase: string | null;
}

/** Names of the phases, at their first steps; a step that only opens a phase is left out. */
export function phased(steps: readonly TraceStep[]): PhasedStep[] {
  let phase = '';
  let next: string | null = null;
  return steps.flatMap((step): PhasedStep[] => {
    const opened = step.step === 'pipeline' ? capital(step.name) : (PHASE_OF[step.step] ?? phase);
    if (opened !== phase) next = opened;
    phase = opened;
    if (step.step === 'pipeline') return [];
    const shown = { step, phase: next };
    next = null;
    return [shown];
  });
}

const PHASE_OF: Partial<Record<TraceStep['step'], string>> = {
  begin: 'Arrival',
  parser_state: 'Parser',
  parser_failed: 'Parser',
  checksum_verified: 'Checksums',
  checksum_updated: 'Checksums',
  deparsed: 'Deparser',
  sent: 'Departure',
};
const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** One line for a step. */
export function stepText(step: TraceStep): { readonly title: string; readonly detail: string | null } {
  switch (step.step) {
    case 'begin':
      return step.kind === 'normal'
        ? { title: `Came in at ${step.port}`, detail: `${step.bytes} bytes` }
        : { title: `${capital(step.kind.replaceAll('_', ' '))} for ${step.port}`, detail: `copy ${step.rid}` };
    case 'parser_state':
      return { title: step.state, detail: step.extracted.length > 0 ? `extracts ${step.extracted.join(', ')}` : null };
    case 'parser_failed':
      return { title: step.state, detail: `error ${step.error}` };
    case 'checksum_verified':
      return { title: step.name, detail: step.right ? 'right' : 'wrong' };
    case 'checksum_updated':
      return { title: step.name, detail: step.value };
    case 'table_lookup':
      return { title: step.table, detail: null };
    case 'action_run':
      return { title: step.action, detail: null };
    case 'condition':
      return { title: step.source || step.name, detail: step.taken ? 'yes' : 'no' };
    case 'counted':
      return { title: step.counter, detail: `counter ${step.index}` };
    case 'metered':
      return {
        title: step.meter,
        detail: `meter ${step.index}: ${['green', 'yellow', 'red'][step.colour] ?? step.colour}`,
      };
    case 'register':
      return { title: step.name, detail: `[${step.index}] ${step.write ? 'becomes' : 'is'} ${step.value}` };
    case 'logged':
      return { title: 'Log', detail: step.text };
    case 'copied':
      return { title: capital(step.kind), detail: `${step.id}${step.copies > 0 ? `, ${step.copies} copies` : ''}` };
    case 'dropped':
      return { title: 'Dropped', detail: reasonText(step.reason) };
    case 'deparsed':
      return {
        title: step.headers.join(', ') || 'no header',
        detail: `${step.header_bytes} + ${step.payload_bytes} bytes`,
      };
    case 'sent':
      return { title: `Left by ${step.port}`, detail: `${step.bytes} bytes` };
    case 'pipeline':
      return { title: capital(step.name), detail: null };
  }
}
