import { Button } from '@mantine/core';
import type { Operation, Plan } from '@orrery/contract';
import { type ReactNode, useState } from 'react';
import type { CallInput } from '../api/routes.js';
import { canMove, MovePreview, useRequestedPlan } from '../plan/move-plan.js';
import { FormDialog } from '../ui/form-dialog.js';
import { useChainActions } from './use-chain-actions.js';

interface PlanDialogProps {
  readonly title: string;
  /** What is planned; null: nothing is asked yet. */
  readonly request: CallInput<'createPlan'>['body'] | null;
  /** Label of the button that deploys the plan. */
  readonly confirm: string;
  /** Where the user says first what is to be planned: asks for the plan. */
  readonly ask?: { readonly label: string; readonly hint: string; readonly onAsk: () => void };
  /** How the plan that is shown is deployed, if not as it is. Resolves to null where it was not. */
  readonly deploy?: (plan: Plan) => Promise<Operation | null>;
  readonly trouble?: ReactNode;
  /** Something that the user has typed is refused: nothing is planned or deployed until it is mended. */
  readonly invalid?: boolean;
  readonly children?: ReactNode;
  /** Shown before the steps of the plan. */
  readonly details?: (plan: Plan) => ReactNode;
  readonly onClose: () => void;
}

/** A change of what runs: shows its plan, and deploys that very plan on consent. */
export function PlanDialog({
  title,
  request,
  confirm,
  ask,
  deploy,
  trouble,
  invalid = false,
  children,
  details,
  onClose,
}: PlanDialogProps) {
  const query = useRequestedPlan(request);
  const actions = useChainActions();
  const [busy, setBusy] = useState(false);
  const submit = async () => {
    if (invalid) return;
    if (request === null) return ask?.onAsk();
    const [plan] = query.data ?? [];
    if (!plan || !canMove(query)) return;
    setBusy(true);
    const operation = await (deploy ?? (({ id }) => actions.deploy({ plan_id: id })))(plan);
    setBusy(false);
    if (operation) onClose();
    // Something else was deployed meanwhile, so that this plan is out of date.
    else void query.refetch();
  };
  return (
    <FormDialog
      size={760}
      title={title}
      trouble={trouble}
      onClose={onClose}
      onSubmit={() => void submit()}
      action={
        <Button type="submit" loading={busy} disabled={invalid || (request !== null && !canMove(query))}>
          {request === null && ask ? ask.label : confirm}
        </Button>
      }
    >
      {children}
      <MovePreview label="Plan of the change" query={query} first={request === null && ask ? ask.hint : null}>
        {details}
      </MovePreview>
    </FormDialog>
  );
}
