import { Button, MultiSelect } from '@mantine/core';
import {
  acceleratorName,
  acceleratorNamed,
  type Infrastructure,
  type LendingGroup,
  LendingGroupRequest,
  type LentAccelerator,
  type NfRef,
} from '@orrery/contract';
import { useQueryClient } from '@tanstack/react-query';
import { createContext, useContext } from 'react';
import { nfKey, useChainTitle } from '../../shared/api/chains.js';
import { call } from '../../shared/api/client.js';
import { useChains, useInfrastructure, useNfInstances } from '../../shared/api/queries.js';
import type { FormField } from '../../shared/form/field-model.js';
import type { Values } from '../../shared/form/field-values.js';
import { SchemaFields } from '../../shared/form/schema-fields.js';
import { useSchemaForm } from '../../shared/form/use-schema-form.js';
import { inputProps, type WidgetProps } from '../../shared/form/widget.js';
import { wordedFields } from '../../shared/form/worded-fields.js';
import { Choice } from '../../shared/ui/choice.js';
import { FormDialog } from '../../shared/ui/form-dialog.js';
import { FormTrouble } from '../../shared/ui/form-trouble.js';
import { notifyDone } from '../../shared/ui/notify.js';
import classes from './accelerators.module.css';
import { requestOf } from './lending-table.js';
import { STRATEGIES } from './lending-words.js';

interface Option {
  readonly value: string;
  readonly label: string;
}
interface Choices {
  readonly chains: readonly Option[];
  readonly nfs: readonly Option[];
  readonly accelerators: readonly Option[];
}
const ChoicesContext = createContext<Choices>({ chains: [], nfs: [], accelerators: [] });

const USAGES = [
  { value: 'cpu', label: 'CPU', says: 'The share of its own CPU limit that a VNF uses.' },
  { value: 'bps', label: 'Bit rate', says: 'The share of a full rate that it carries.' },
] as const;

const TEXTS: Readonly<Record<string, Pick<FormField, 'title' | 'description'>>> = {
  title: { title: 'Name', description: '' },
  chains: { title: 'Chains', description: 'All their NFs that can use one of the accelerators take part.' },
  nfs: { title: 'Single NFs', description: 'Besides those of the chains.' },
  accelerators: {
    title: 'Accelerators',
    description: 'Each is lent to one VNF at a time. A VNF moves to a slot and back, in seconds; its sessions stay up.',
  },
  strategy: { title: 'Who gets it', description: '' },
  usage: { title: 'Usage', description: '' },
  max_bps: { title: 'Full rate', description: '' },
  th_up: { title: 'Overloaded above', description: 'A share of the maximum, from 0 to 1.' },
  th_low: { title: 'Gives up below', description: 'A share of the maximum, from 0 to 1.' },
  slice_s: { title: 'Slice (s)', description: 'A holder keeps it this long while others wait.' },
  enabled: { title: 'Enabled', description: 'Without, holders go back to software.' },
};
const FIELDS = wordedFields(LendingGroupRequest, TEXTS);
const FIELDS_OF_CPU = FIELDS.filter(({ key }) => key !== 'max_bps');
const fieldsOf = ({ usage }: Values) => (usage === 'bps' ? FIELDS : FIELDS_OF_CPU);

const NEW_GROUP: Values = {
  chains: [],
  nfs: [],
  strategy: 'ssm',
  usage: 'cpu',
  max_bps: null,
  th_up: 0.75,
  th_low: 0.65,
  slice_s: 11,
  enabled: true,
};

/** With those chosen before that are no longer there. */
const withChosen = (options: readonly Option[], chosen: readonly string[]): Option[] => [
  ...options,
  ...chosen
    .filter((key) => !options.some(({ value }) => value === key))
    .map((key) => ({ value: key, label: `${key} (gone)` })),
];

interface SeveralProps {
  readonly field: WidgetProps<FormField>;
  readonly options: readonly Option[];
  readonly value: readonly string[];
  /** Shown where there is nothing to choose. */
  readonly none: string;
  readonly onChange: (keys: string[]) => void;
}

/** A field of several things that there are. */
function Several({ field, options, value, none, onChange }: SeveralProps) {
  return (
    <MultiSelect
      {...inputProps(field)}
      searchable
      placeholder={value.length > 0 ? undefined : options.length > 0 ? 'Choose' : none}
      data={withChosen(options, value)}
      value={[...value]}
      onChange={onChange}
    />
  );
}

function ChainsWidget(props: WidgetProps<FormField>) {
  const { chains } = useContext(ChoicesContext);
  const value = (props.value as readonly string[] | undefined) ?? [];
  return <Several field={props} options={chains} value={value} none="There is no chain" onChange={props.onChange} />;
}

function NfsWidget(props: WidgetProps<FormField>) {
  const { nfs } = useContext(ChoicesContext);
  const value = ((props.value as readonly NfRef[] | undefined) ?? []).map(nfKey);
  const refOf = (key: string): NfRef => {
    const [chain_id = '', node_id = ''] = key.split(' ');
    return { chain_id, node_id };
  };
  const onChange = (keys: string[]) => props.onChange(keys.map(refOf));
  return <Several field={props} options={nfs} value={value} none="No NF runs" onChange={onChange} />;
}

function AcceleratorsWidget(props: WidgetProps<FormField>) {
  const { accelerators } = useContext(ChoicesContext);
  const value = ((props.value as readonly LentAccelerator[] | undefined) ?? []).map(acceleratorName);
  const onChange = (keys: string[]) => props.onChange(keys.map(acceleratorNamed));
  return <Several field={props} options={accelerators} value={value} none="There is no server" onChange={onChange} />;
}

const WIDGETS = {
  '/chains': ChainsWidget,
  '/nfs': NfsWidget,
  '/accelerators': AcceleratorsWidget,
  '/strategy': ({ field, value, onChange }: WidgetProps<FormField>) => (
    <Choice label={field.title} choices={STRATEGIES} value={String(value)} onChange={onChange} />
  ),
  '/usage': ({ field, value, onChange }: WidgetProps<FormField>) => (
    <Choice label={field.title} choices={USAGES} value={String(value)} onChange={onChange} />
  ),
};

/** Checks beyond the schema. */
function check({ th_up, th_low, chains, nfs, usage, max_bps }: Values): Record<string, string> {
  const isEmpty = (list: unknown) => !Array.isArray(list) || list.length === 0;
  return {
    ...(typeof th_up === 'number' && typeof th_low === 'number' && th_low >= th_up
      ? { '/th_low': 'must be below the upper threshold' }
      : {}),
    ...(isEmpty(chains) && isEmpty(nfs) ? { '/chains': 'must name a chain, unless an NF is named' } : {}),
    ...(usage === 'bps' && typeof max_bps !== 'number' ? { '/max_bps': 'must be given' } : {}),
  };
}

interface LendingFormProps {
  /** Null: a new one. */
  readonly group: LendingGroup | null;
  readonly onClose: () => void;
}

/** Which VNFs take turns at which accelerators, and how. */
export default function LendingForm({ group, onClose }: LendingFormProps) {
  const queries = useQueryClient();
  const choices = useChoices();
  const form = useSchemaForm({
    fieldsOf,
    initial: group ? { ...requestOf(group) } : NEW_GROUP,
    check,
    widgets: WIDGETS,
    send: (values) => {
      const max_bps = values.usage === 'bps' ? values.max_bps : null;
      const body = { ...values, max_bps, title: String(values.title).trim() } as LendingGroupRequest;
      return group
        ? call('putLendingGroup', { params: { id: group.id }, body }, { ifMatch: `"${group.revision}"` })
        : call('createLendingGroup', { body }, { idempotencyKey: crypto.randomUUID() });
    },
    onSent: () => {
      void queries.invalidateQueries({ queryKey: ['lending-groups'] });
      notifyDone(group ? 'The lending group was changed.' : 'The lending group was added.');
      onClose();
    },
  });
  return (
    <FormDialog
      size={640}
      title={group ? `Lending group ${group.title}` : 'New lending group'}
      onClose={onClose}
      onSubmit={form.submit}
      trouble={<FormTrouble error={form.error} shown={form.shown} />}
      action={
        <Button type="submit" loading={form.isPending}>
          {group ? 'Save' : 'Add'}
        </Button>
      }
    >
      <ChoicesContext value={choices}>
        <div className={classes.policyFields}>
          <SchemaFields {...form.bound} />
        </div>
      </ChoicesContext>
    </FormDialog>
  );
}

function slotOptions({ id, title = id, origin, slots }: Infrastructure['boards'][number]): Option[] {
  return Array.from({ length: slots }, (_, slot) => ({
    value: acceleratorName({ kind: 'slot', board: id, slot }),
    label: `Slot ${slot} of ${title}${origin === 'twin' ? ' (emulated)' : ''}`,
  }));
}

function useChoices(): Choices {
  const { data: chains } = useChains();
  const { data: instances } = useNfInstances();
  const { data: network } = useInfrastructure();
  const titleOf = useChainTitle();
  const nfs = new Map(
    (instances ?? []).map((nf) => [nfKey(nf), { value: nfKey(nf), label: `${nf.node_id} of ${titleOf(nf.chain_id)}` }]),
  );
  return {
    chains: (chains ?? []).map(({ id, draft }) => ({ value: id, label: draft.title })),
    nfs: [...nfs.values()],
    accelerators: [
      ...(network?.servers ?? []).map(({ id }) => {
        const value = acceleratorName({ kind: 'instructions', server: id });
        return { value, label: `Crypto instructions of ${id}` };
      }),
      ...(network?.boards ?? []).flatMap(slotOptions),
    ],
  };
}
