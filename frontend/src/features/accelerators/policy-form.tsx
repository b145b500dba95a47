import { Button } from '@mantine/core';
import type {
  Accelerator,
  LoadKind,
  NfRef,
  ReconfigurationPolicy,
  ReconfigurationPolicyRequest,
} from '@orrery/contract';
import { useQueryClient } from '@tanstack/react-query';
import { nfKey } from '../../shared/api/chains.js';
import { call } from '../../shared/api/client.js';
import type { Values } from '../../shared/form/field-values.js';
import { SchemaFields } from '../../shared/form/schema-fields.js';
import { useSchemaForm } from '../../shared/form/use-schema-form.js';
import { FormDialog } from '../../shared/ui/form-dialog.js';
import { FormTrouble } from '../../shared/ui/form-trouble.js';
import { notifyDone } from '../../shared/ui/notify.js';
import classes from './accelerators.module.css';
import { useNfLabel } from './move-fields.js';
import { MOVE_WIDGETS, MoveChoicesContext } from './move-widgets.js';
import type { BoardNf } from './nfs.js';
import { NEW_POLICY, policyFields } from './policy-fields.js';
import { slotChoices, useSlotOffers } from './slot-offers.js';
import { ThresholdWidget } from './threshold-widget.js';

interface PolicyFormProps {
  /** Null: a new one. */
  readonly policy: ReconfigurationPolicy | null;
  readonly boards: readonly Accelerator[];
  readonly nfs: readonly BoardNf[];
  readonly onClose: () => void;
}

const WIDGETS = { ...MOVE_WIDGETS, '/threshold': ThresholdWidget };

function valuesOf(policy: ReconfigurationPolicy): Values {
  const { id: _id, revision: _revision, load_now: _load, state: _state, ...values } = policy;
  return values;
}

/** Checks beyond the schema. */
function check({ threshold }: Values): Readonly<Record<string, string>> {
  const { up, down } = (threshold ?? {}) as { up?: number; down?: number };
  return up !== undefined && down !== undefined && down >= up
    ? { '/threshold/down': 'must be below the upper threshold' }
    : {};
}

/** The NF that moves displaces others, not itself. */
function adjust(values: Values): Values {
  const displaces = (values.displaces as readonly NfRef[] | undefined) ?? [];
  const moving = values.nf ? nfKey(values.nf as NfRef) : '';
  return { ...values, displaces: displaces.filter((nf) => nfKey(nf) !== moving) };
}

/** When an NF automatically moves to a board, and when it moves back. */
export default function PolicyForm({ policy, boards, nfs, onClose }: PolicyFormProps) {
  const queries = useQueryClient();
  const form = useSchemaForm({
    fieldsOf: policyFields,
    initial: policy ? valuesOf(policy) : NEW_POLICY,
    check,
    adjust,
    widgets: WIDGETS,
    send: (values) => {
      const body = { ...values, title: String(values.title).trim() } as ReconfigurationPolicyRequest;
      return policy
        ? call('putReconfigurationPolicy', { params: { id: policy.id }, body }, { ifMatch: `"${policy.revision}"` })
        : call('createReconfigurationPolicy', { body }, { idempotencyKey: crypto.randomUUID() });
    },
    onSent: () => {
      void queries.invalidateQueries({ queryKey: ['reconfiguration-policies'] });
      notifyDone(policy ? 'The policy was changed.' : 'The policy was added.');
      onClose();
    },
  });
  const choices = usePolicyChoices(form.values, boards, nfs);
  return (
    <FormDialog
      size={640}
      title={policy ? `Policy ${policy.title}` : 'New policy'}
      onClose={onClose}
      onSubmit={form.submit}
      trouble={<FormTrouble error={form.error} shown={form.shown} />}
      action={
        <Button type="submit" loading={form.isPending}>
          {policy ? 'Save' : 'Add'}
        </Button>
      }
    >
      <MoveChoicesContext value={choices}>
        <div className={classes.policyFields}>
          <SchemaFields {...form.bound} />
        </div>
      </MoveChoicesContext>
    </FormDialog>
  );
}

function usePolicyChoices(values: Values, boards: readonly Accelerator[], nfs: readonly BoardNf[]) {
  const nfLabel = useNfLabel();
  const nf = values.nf ? nfKey(values.nf as NfRef) : '';
  const displaces = ((values.displaces as readonly NfRef[] | undefined) ?? []).map(nfKey);
  const known = nfs.map((each) => ({ value: nfKey(each), label: nfLabel(each) }));
  // An NF whose chain is not running stays selected.
  const gone = [nf, ...displaces].filter((key) => key !== '' && !known.some(({ value }) => value === key));
  const chosen = nfs.find((each) => nfKey(each) === nf) ?? null;
  const offers = useSlotOffers(chosen, (values.load as LoadKind | undefined) ?? 'partial');
  // What is refused now may be possible when the policy acts.
  const slots = slotChoices(boards, offers, chosen).map((slot) => ({ ...slot, disabled: false }));
  const all = [...known, ...gone.map((key) => ({ value: key, label: `${key.split(' ')[1]} (not deployed)` }))];
  return { slots, nfs: all, displaceable: all.filter(({ value }) => value !== nf) };
}
