import { MultiSelect, Select } from '@mantine/core';
import type { LoadKind, LoadPolicy, NfRef, SlotRef } from '@orrery/contract';
import { createContext, useContext } from 'react';
import { nfKey } from '../../shared/api/chains.js';
import type { FormField } from '../../shared/form/field-model.js';
import { inputProps, type WidgetProps } from '../../shared/form/widget.js';
import { Choice } from '../../shared/ui/choice.js';
import { LOADS, POLICIES } from './load-choices.js';
import { parseSlot, slotValue } from './move-draft.js';

interface Option {
  readonly value: string;
  readonly label: string;
  readonly disabled?: boolean;
}

interface MoveChoices {
  /** NFs by `nfKey`. */
  readonly nfs: readonly Option[];
  /** Slots by `slotValue`. */
  readonly slots: readonly Option[];
  /** NFs that may make room, by `nfKey`. */
  readonly displaceable: readonly Option[];
}

/** What the fields of a move or of a policy for moves offer. */
export const MoveChoicesContext = createContext<MoveChoices>({ nfs: [], slots: [], displaceable: [] });

function refOf(key: string): NfRef {
  const [chain_id = '', node_id = ''] = key.split(' ');
  return { chain_id, node_id };
}

function NfWidget(props: WidgetProps<FormField>) {
  const { nfs } = useContext(MoveChoicesContext);
  return (
    <Select
      {...inputProps(props)}
      placeholder={nfs.length === 0 ? 'No running chain has an NF for boards' : 'NF of a deployed chain'}
      data={[...nfs]}
      value={props.value ? nfKey(props.value as NfRef) : null}
      onChange={(key) => props.onChange(key ? refOf(key) : undefined)}
    />
  );
}

function DisplacesWidget(props: WidgetProps<FormField>) {
  const { displaceable } = useContext(MoveChoicesContext);
  const value = ((props.value as readonly NfRef[] | undefined) ?? []).map(nfKey);
  return (
    <MultiSelect
      {...inputProps(props)}
      placeholder={value.length === 0 ? 'Nothing' : undefined}
      data={[...displaceable]}
      value={value}
      onChange={(keys) => props.onChange(keys.map(refOf))}
    />
  );
}

function SlotWidget(props: WidgetProps<FormField>) {
  const { slots } = useContext(MoveChoicesContext);
  return (
    <Select
      {...inputProps(props)}
      placeholder={slots.length === 0 ? 'There is no board' : 'Any slot that fits'}
      clearable
      data={[...slots]}
      value={props.value ? slotValue(props.value as SlotRef) : null}
      onChange={(slot) => props.onChange(parseSlot(slot ?? ''))}
    />
  );
}

function LoadWidget({ field, value, onChange }: WidgetProps<FormField>) {
  return <Choice label={field.title} choices={LOADS} value={value as LoadKind} onChange={onChange} />;
}

function FramesWidget({ field, value, onChange }: WidgetProps<FormField>) {
  return <Choice label={field.title} choices={POLICIES} value={value as LoadPolicy} onChange={onChange} />;
}

/** By the pointers that a request for a move and a policy share. */
export const MOVE_WIDGETS = {
  '/nf': NfWidget,
  '/displaces': DisplacesWidget,
  '/slot': SlotWidget,
  '/load': LoadWidget,
  '/policy': FramesWidget,
};
