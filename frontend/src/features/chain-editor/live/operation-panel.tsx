import { Button } from '@mantine/core';
import type { Operation } from '@orrery/contract';
import { useState } from 'react';
import { useOperation } from '../../../shared/api/queries.js';
import { useMay } from '../../../shared/api/session.js';
import { useChainActions } from '../../../shared/chain/use-chain-actions.js';
import { useDeployChain } from '../../../shared/chain/use-deploy-chain.js';
import { useEditorContext } from '../../../shared/chain-draft/context.js';
import { useSaver } from '../../../shared/chain-draft/saver-context.js';
import { OPERATION_WORDS, operationTrouble, stepText } from '../../../shared/format/operation.js';
import { durationText } from '../../../shared/format/time.js';
import { useNow } from '../../../shared/stream/clock.js';
import { ConfirmDialog, type Question } from '../../../shared/ui/confirm-dialog.js';
import { OperationBadge } from '../../../shared/ui/operation-badge.js';
import { Reason } from '../../../shared/ui/reason.js';
import { RelativeTime } from '../../../shared/ui/relative-time.js';
import { EmptyState } from '../../../shared/ui/states.js';
import { StepBadge } from '../../../shared/ui/step-badge.js';
import classes from './operation-panel.module.css';

/** The newest operation on this chain, step by step. */
export function OperationPanel({ operation: listed }: { readonly operation: Operation | null }) {
  const { data } = useOperation(listed?.id);
  const operation = data ?? listed;
  if (!operation) {
    return <EmptyState title="No operations on this chain yet">Deploy it to see one here.</EmptyState>;
  }
  return <Progress operation={operation} />;
}

function Progress({ operation }: { readonly operation: Operation }) {
  const { chain } = useEditorContext();
  const saver = useSaver();
  const actions = useChainActions();
  const [question, setQuestion] = useState<Question | null>(null);
  const deployChain = useDeployChain(setQuestion);
  const mayOperate = useMay('operator');
  const running = operation.state === 'PROCESSING' || operation.state === 'ROLLING_BACK';
  const now = useNow();
  const end = running ? now : operation.updated_ms;
  const trouble = operationTrouble(operation);
  const failed = operation.state === 'FAILED' || operation.state === 'FAILED_TEMP' || operation.error !== null;
  const retry = async () => {
    if (operation.kind === 'undeploy') await actions.undeploy(chain.id);
    else if (await saver.flush()) await deployChain(chain.id);
  };
  return (
    <div className={classes.panel}>
      <div className={classes.head}>
        <strong>{OPERATION_WORDS[operation.kind]}</strong>
        <OperationBadge operation={operation} />
        <span className="muted tabular">{durationText(Math.max(0, end - operation.started_ms))}</span>
        {operation.first_packet_ms !== null && (
          <span className="muted tabular">
            first packet after {durationText(operation.first_packet_ms - operation.started_ms)}
          </span>
        )}
        <span className={classes.by}>
          {operation.by}, <RelativeTime t_ms={operation.started_ms} />
        </span>
        {failed && (
          <Reason of={mayOperate ? null : 'Needs the role operator'}>
            <Button variant="default" disabled={!mayOperate} onClick={() => void retry()}>
              Try again
            </Button>
          </Reason>
        )}
      </div>
      {trouble && (
        <div className={classes.error} role="alert">
          {trouble.detail}
          {trouble.errors.length > 0 && (
            <ul>
              {trouble.errors.map(({ pointer, detail }) => (
                <li key={`${pointer}${detail}`}>
                  <code>{pointer}</code> {detail}
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
      <ol className={classes.steps} aria-label="Steps">
        {operation.steps.map((step) => (
          <li key={step.ordinal} data-state={step.state}>
            <StepBadge
              state={operation.state === 'FAILED_TEMP' && step.state === 'running' ? 'failed' : step.state}
              lasting={step.ended_ms !== null}
            />
            <span className={classes.summary}>{stepText(step)}</span>
            <span className="muted">{step.subject}</span>
            <span className={classes.duration}>
              {step.started_ms === null ? '' : durationText((step.ended_ms ?? end) - step.started_ms)}
            </span>
            {step.detail && <span className={classes.detail}>{step.detail}</span>}
          </li>
        ))}
      </ol>
      <ConfirmDialog question={question} onClose={() => setQuestion(null)} />
    </div>
  );
}
