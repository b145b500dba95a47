import { Button } from '@mantine/core';
import type { JoinToken, NodeStatus } from '@orrery/contract';
import { useMutation } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { notifyDone, notifyError } from '../../shared/ui/notify.js';
import { Reason } from '../../shared/ui/reason.js';
import { revokeText, whyNot } from './admission.js';
import classes from './agents.module.css';

interface AgentActionsProps {
  readonly node: NodeStatus;
  readonly may: boolean;
  readonly onToken: (token: JoinToken) => void;
}

/** Admits an agent by a join token, and revokes its credential; a button that is disabled says why. */
export function AgentActions({ node, may, onToken }: AgentActionsProps) {
  const reason = whyNot(node, may);
  const join = useMutation({
    mutationFn: () => call('createJoinToken', { body: { node: node.id } }),
    onSuccess: onToken,
    onError: (error) => notifyError(`No join token for ${node.id}`, error),
  });
  const revoke = useMutation({
    mutationFn: () => call('revokeCredential', { params: { id: node.id } }),
    onSuccess: () => notifyDone(`The credential of ${node.id} was revoked.`),
    onError: (error) => notifyError(`The credential of ${node.id} was not revoked`, error),
  });
  return (
    <span className={classes.actions}>
      <Reason of={reason}>
        <Button
          variant="default"
          size="compact-xs"
          aria-label={`Join token for ${node.id}`}
          disabled={reason !== null}
          loading={join.isPending}
          onClick={() => join.mutate()}
        >
          Join token…
        </Button>
      </Reason>
      <Reason of={reason}>
        <ConfirmButton
          size="compact-xs"
          aria-label={`Revoke the credential of ${node.id}`}
          disabled={reason !== null}
          loading={revoke.isPending}
          message={revokeText(node)}
          confirmLabel="Revoke"
          onConfirm={() => revoke.mutate()}
        >
          Revoke
        </ConfirmButton>
      </Reason>
    </span>
  );
}
