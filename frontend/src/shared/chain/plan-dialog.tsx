import { Button } from '@mantine/core';
import type { Operation, Plan } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { call } from '../api/client.js';
import { canMove, MovePreview, type RequestedPlan, useRequestedPlans } from '../plan/move-plan.js';
import { FormDialog } from '../ui/form-dialog.js';
import { FormTrouble } from '../ui/form-trouble.js';
import { CHANGED_BY_DEPLOYING } from './use-chain-actions.js';

interface PlanDialogProps {
  readonly title: string;
  /** What is planned; null: nothing is asked yet. */
  readonly request: RequestedPlan | null;
  /** What comes before that, which is planned on top of it; with a heading for each. */
  readonly before?: { readonly request: RequestedPlan; readonly headings: readonly [string, string] };
  /** Label of the button that deploys the plan. */
  readonly confirm: string;
  /** Where the user says first what is to be planned: asks for the plan. */
  readonly ask?: { readonly label: string; readonly hint: string; readonly onAsk: () => void };
  /** How the plan that is shown is deployed, if not as it is. Resolves to null where it was not and `trouble` says why. */
  readonly deploy?: (plan: Plan) => Promise<Operation | null>;
  readonly trouble?: ReactNode;
  /** Something that the user has typed is refused: nothing is planned or deployed until it is mended. */
  readonly invalid?: boolean;
  readonly children?: ReactNode;
  /** Shown before the steps of the plan. */
  readonly details?: (plan: Plan) => ReactNode;
  readonly onClose: () => void;
}

/** A change of what runs: shows its plan, and deploys that very plan on consent. One that is refused can be planned again. */
export function PlanDialog({
  title,
  request,
  before,
  confirm,
  ask,
  deploy,
  trouble,
  invalid = false,
  children,
  details,
  onClose,
}: PlanDialogProps) {
  const query = useRequestedPlans(request === null ? null : before ? [before.request, request] : [request]);
  const queries = useQueryClient();
  const deployment = useMutation({
    mutationFn: deploy ?? deployAsItIs,
    onSuccess: (operation) => operation && onClose(),
    onSettled: () => {
      for (const key of CHANGED_BY_DEPLOYING) void queries.invalidateQueries({ queryKey: [key] });
    },
  });
  const again = () => {
    deployment.reset();
    void query.refetch();
  };
  const submit = () => {
    if (invalid) return;
    if (request === null) {
      deployment.reset();
      return ask?.onAsk();
    }
    const plan = query.data?.at(-1);
    if (plan && canMove(query)) deployment.mutate(plan);
  };
  const refusal = request === null ? null : deployment.error;
  return (
    <FormDialog
      size={760}
      title={title}
      trouble={refusal ? <FormTrouble error={refusal} shown={[]} /> : trouble}
      onClose={onClose}
      onSubmit={submit}
      action={
        refusal ? (
          <Button key="again" onClick={again}>
            Plan again
          </Button>
        ) : (
          <Button
            key="deploy"
            type="submit"
            loading={deployment.isPending}
            disabled={invalid || (request !== null && !canMove(query))}
          >
            {request === null && ask ? ask.label : confirm}
          </Button>
        )
      }
    >
      {children}
      <MovePreview
        label="Plan of the change"
        query={query}
        first={request === null && ask ? ask.hint : null}
        headings={before?.headings}
      >
        {details}
      </MovePreview>
    </FormDialog>
  );
}

const deployAsItIs = ({ id }: Plan): Promise<Operation> =>
  call('createDeployment', { body: { plan_id: id } }, { idempotencyKey: crypto.randomUUID() });
