import type { ImplementationChoice, NfDescriptor, NfInstance } from '@orrery/contract';
import { FORM_NAMES, type Form, formOfDriver, formsOf } from '../../../shared/format/form.js';
import { quantityText } from '../../../shared/format/quantity.js';

interface FormChoice {
  readonly value: Form;
  readonly label: string;
  readonly says: string;
}

const WHAT: Readonly<Record<Form, string>> = {
  software: 'On a core of a server, possibly shared with other NFs.',
  container: 'In its own container, with its own memory and CPU limits.',
  board: 'In a slot of an FPGA board.',
};

function costText({ cost, kind }: NfDescriptor['implementations'][number]): string {
  const cycles = `${cost.cycles_per_packet} cycles per packet${cost.cycles_per_byte > 0 ? ` + ${cost.cycles_per_byte} per byte` : ''}`;
  return `${cycles}${kind === 'board' ? ' of the board’s clock' : ''}, and ${quantityText('us', cost.base_latency_us)} of fixed latency.`;
}

/** The implementations that a descriptor offers, each with its meaning and cost. */
export function formChoices({ implementations }: Pick<NfDescriptor, 'implementations'>): FormChoice[] {
  return formsOf(implementations).map((value) => ({
    value,
    label: FORM_NAMES[value],
    says: `${WHAT[value]} ${costText(implementations.find(({ kind }) => kind === value)!)}`,
  }));
}

/** What an NF currently runs on. While it moves it has instances of two kinds: the one that is not software counts. */
export function formNow(instances: readonly Pick<NfInstance, 'driver'>[]): Form {
  const forms = instances.map(({ driver }) => formOfDriver(driver));
  return forms.find((form) => form !== 'software') ?? 'software';
}

/** Implementation choices for the plan of a move; null if there is nothing to plan. Moves to boards start on their page. */
export function runOnChoice(
  { chain_id, node_id }: Pick<NfInstance, 'chain_id' | 'node_id'>,
  to: Form,
  now: Form,
): ImplementationChoice | null {
  if (to === now || to === 'board') return null;
  return { chain_id, node_id, on: to, load: 'partial', policy: 'hold' };
}
