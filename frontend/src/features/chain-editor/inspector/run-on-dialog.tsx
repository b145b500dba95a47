import { Button } from '@mantine/core';
import type { NfDescriptor, NfInstance } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { programPath } from '../../../shared/api/chains.js';
import { call } from '../../../shared/api/client.js';
import { FORM_NAMES, type Form, runsOnText } from '../../../shared/format/form.js';
import { canMove, MovePreview, useMovePlans } from '../../../shared/plan/move-plan.js';
import { Choice } from '../../../shared/ui/choice.js';
import { FormDialog } from '../../../shared/ui/form-dialog.js';
import { FormTrouble } from '../../../shared/ui/form-trouble.js';
import classes from './inspector.module.css';
import { formChoices, formNow, runOnChoice } from './run-on.js';

interface RunOnDialogProps {
  /** Of one NF; at least one. */
  readonly instances: readonly NfInstance[];
  readonly descriptor: NfDescriptor;
  readonly onClose: () => void;
}

const CHANGED = ['operations', 'deployments', 'chains', 'nf-instances'];

/** Moves an NF of a deployed chain between implementations: the choice, its plan, and only then the deployment. */
export default function RunOnDialog({ instances, descriptor, onClose }: RunOnDialogProps) {
  const [now] = useState(() => formNow(instances));
  const [to, setTo] = useState<Form>(now);
  const nf = instances[0]!;
  const choice = runOnChoice(nf, to, now);
  const plans = useMovePlans(choice && [[[choice]]]);
  const movable = choice !== null && canMove(plans);
  const queries = useQueryClient();
  const deploy = useMutation({
    mutationFn: (plan_id: string) =>
      call('createDeployment', { body: { plan_id } }, { idempotencyKey: crypto.randomUUID() }),
    onSuccess: () => {
      for (const key of CHANGED) void queries.invalidateQueries({ queryKey: [key] });
      onClose();
    },
  });
  const again = () => {
    deploy.reset();
    void plans.refetch();
  };
  return (
    <FormDialog
      size={720}
      title={`Change what ${nf.node_id} runs on`}
      onClose={onClose}
      onSubmit={() => movable && deploy.mutate(plans.data!.at(-1)!.id)}
      trouble={<FormTrouble error={deploy.error} shown={[]} />}
      action={
        to === 'board' ? (
          <Button component={Link} to={programPath(nf)}>
            {now === 'board' ? 'Choose another slot' : 'Choose a slot'}
          </Button>
        ) : deploy.error ? (
          <Button onClick={again}>Plan again</Button>
        ) : (
          <Button type="submit" loading={deploy.isPending} disabled={!movable}>
            Deploy
          </Button>
        )
      }
    >
      <p className={classes.runsNow}>Now: {instances.map(runsOnText).join('; ')}</p>
      <Choice
        label="Run it as"
        choices={formChoices(descriptor)}
        value={to}
        onChange={(form) => {
          deploy.reset();
          setTo(form);
        }}
      />
      <MovePreview query={plans} first={choice === null ? firstText(to, now) : null} />
    </FormDialog>
  );
}

function firstText(to: Form, now: Form): string {
  if (to === 'board')
    return 'Choose the slot, the load and the NFs that make room on Accelerators; the plan is shown there.';
  return `It runs as ${FORM_NAMES[now].toLowerCase()} now. Choose another implementation to see what the change would do.`;
}
