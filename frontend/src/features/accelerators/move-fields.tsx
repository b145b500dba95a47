import { type Accelerator, type NfRef, ReconfigurationRequest, type SlotRef } from '@orrery/contract';
import { nfKey, useChainTitle } from '../../shared/api/chains.js';
import type { Values } from '../../shared/form/field-values.js';
import { SchemaFields } from '../../shared/form/schema-fields.js';
import { pointerOf } from '../../shared/form/widget.js';
import { wordedFields } from '../../shared/form/worded-fields.js';
import { fieldErrorOf } from '../../shared/ui/form-trouble.js';
import classes from './accelerators.module.css';
import { displaceable, type MoveDraft, parseSlot, slotValue } from './move-draft.js';
import { MOVE_WIDGETS, MoveChoicesContext } from './move-widgets.js';
import { type BoardNf, slotText, whereText } from './nfs.js';
import { offered, slotChoices, useSlotOffers } from './slot-offers.js';

const FIELDS = wordedFields(ReconfigurationRequest, {
  nf: { title: 'NF', description: '' },
  slot: { title: 'Slot', description: '' },
  load: { title: 'Load', description: '' },
  policy: { title: 'Frames during the load', description: '' },
  displaces: { title: 'Displaces', description: 'NFs that move to software to make room.' },
});

interface MoveFieldsProps {
  readonly boards: readonly Accelerator[];
  readonly nfs: readonly BoardNf[];
  readonly draft: MoveDraft;
  /** The slot is not given; it can be chosen. */
  readonly anySlot: boolean;
  readonly error: unknown;
  readonly onChange: (change: Partial<MoveDraft>) => void;
}

/** What is to move onto which slot, and how. */
export function MoveFields({ draft, anySlot, boards, nfs, error, onChange }: MoveFieldsProps) {
  const nfLabel = useNfLabel();
  const room = displaceable(nfs, draft);
  const chosen = nfs.find((nf) => nfKey(nf) === draft.nf) ?? null;
  const at = anySlot ? null : parseSlot(draft.slot);
  const offers = useSlotOffers(at ?? chosen, draft.load);
  const choices = {
    slots: slotChoices(boards, offers, chosen),
    nfs: nfs.map((nf) => {
      const label = nfLabel(nf);
      return { value: nfKey(nf), ...(at ? offered(label, offers, nf, at) : { label, disabled: false }) };
    }),
    displaceable: room.map((nf) => ({ value: nfKey(nf), label: nfLabel(nf) })),
  };
  // A full load takes the whole board off the network, so that nothing is left to decide about frames.
  const hidden = [...(anySlot ? [] : ['slot']), ...(draft.load === 'full' ? ['policy'] : [])];
  return (
    <MoveChoicesContext value={choices}>
      <div className={classes.policyFields}>
        <SchemaFields
          fields={FIELDS.filter(({ key }) => !hidden.includes(key))}
          values={valuesOf(draft, nfs, room)}
          path={[]}
          form={{
            readOnly: false,
            autoFocus: '/nf',
            widgets: MOVE_WIDGETS,
            problemAt: (path) => {
              const pointer = pointerOf(path);
              const own = fieldErrorOf(error, pointer);
              return own ?? (pointer === '/displaces' && !anySlot ? fieldErrorOf(error, '/slot') : undefined) ?? null;
            },
            onChange: ([key], values) => onChange(changeOf(String(key), values)),
          }}
        />
      </div>
    </MoveChoicesContext>
  );
}

const refOf = ({ chain_id, node_id }: NfRef): NfRef => ({ chain_id, node_id });

function valuesOf({ nf, slot, load, policy, displaces }: MoveDraft, nfs: readonly BoardNf[], room: readonly BoardNf[]) {
  const chosen = nfs.find((each) => nfKey(each) === nf);
  return {
    nf: chosen && refOf(chosen),
    slot: parseSlot(slot),
    load,
    policy,
    displaces: room.filter((each) => displaces.includes(nfKey(each))).map(refOf),
  };
}

function changeOf(key: string, { nf, slot, load, policy, displaces }: Values): Partial<MoveDraft> {
  switch (key) {
    case 'nf':
      return { nf: nf ? nfKey(nf as NfRef) : '' };
    case 'slot':
      return { slot: slot ? slotValue(slot as SlotRef) : '' };
    case 'load':
      return { load: load as MoveDraft['load'] };
    case 'policy':
      return { policy: policy as MoveDraft['policy'] };
    default:
      return { displaces: (displaces as readonly NfRef[]).map(nfKey) };
  }
}

/** An NF as it stands in a list: name, chain, and where it runs. */
export function useNfLabel(): (nf: BoardNf) => string {
  const titleOf = useChainTitle();
  return (nf) =>
    `${nf.node_id === nf.nf ? nf.nf : `${nf.node_id} (${nf.nf})`} of ${titleOf(nf.chain_id)}, ${nf.slot ? `on ${slotText(nf.slot)}` : `in ${whereText(nf)}`}`;
}
