import { Button } from '@mantine/core';
import type { Webhook, WebhookAttempt, WebhookSecret } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { notifyDone, notifyError } from '../../shared/ui/notify.js';
import classes from './webhooks.module.css';

interface WebhookActionsProps {
  readonly webhook: Webhook;
  readonly onEdit: (webhook: Webhook) => void;
  readonly onSecret: (secret: WebhookSecret) => void;
}

/** `204 in 12 ms`, or why it was not received. */
export function attemptText({ status, error, took_ms }: Pick<WebhookAttempt, 'status' | 'error' | 'took_ms'>): string {
  return error ?? `${status} in ${Math.round(took_ms)} ms`;
}

export function WebhookActions({ webhook, onEdit, onSecret }: WebhookActionsProps) {
  const { id, title, revision } = webhook;
  const queries = useQueryClient();
  const refresh = () => queries.invalidateQueries({ queryKey: ['webhooks'] });
  const test = useMutation({
    mutationFn: () => call('testWebhook', { params: { id } }),
    onSuccess: (attempt) =>
      attempt.error === null
        ? notifyDone(`The receiver answered ${attemptText(attempt)}.`)
        : notifyError('The test was not received', new Error(attempt.error)),
    onError: (error) => notifyError('No test was sent', error),
  });
  const rotate = useMutation({
    mutationFn: () => call('rotateWebhookSecret', { params: { id } }),
    onSuccess: onSecret,
    onError: (error) => notifyError('The secret was not replaced', error),
    onSettled: refresh,
  });
  const remove = useMutation({
    mutationFn: () => call('deleteWebhook', { params: { id } }, { ifMatch: `"${revision}"` }),
    onError: (error) => notifyError('The webhook was not deleted', error),
    onSettled: refresh,
  });
  return (
    <span className={classes.actions}>
      <Button
        variant="default"
        size="compact-xs"
        aria-label={`Send a test to ${title}`}
        loading={test.isPending}
        onClick={() => test.mutate()}
      >
        Test
      </Button>
      <Button variant="default" size="compact-xs" aria-label={`Edit ${title}`} onClick={() => onEdit(webhook)}>
        Edit
      </Button>
      <ConfirmButton
        size="compact-xs"
        aria-label={`Replace the secret of ${title}`}
        loading={rotate.isPending}
        message="Messages are signed with a new secret from now on. The receiver refuses them until it has it."
        confirmLabel="Replace"
        onConfirm={() => rotate.mutate()}
      >
        New secret
      </ConfirmButton>
      <ConfirmButton
        size="compact-xs"
        aria-label={`Delete ${title}`}
        loading={remove.isPending}
        message={`Nothing is sent to ${title} any more, nor what waits.`}
        confirmLabel="Delete"
        onConfirm={() => remove.mutate()}
      >
        Delete
      </ConfirmButton>
    </span>
  );
}
