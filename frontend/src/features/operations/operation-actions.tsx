import { Button, Group, Text } from '@mantine/core';
import type { Operation } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { useMay } from '../../shared/api/session.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { notifyError } from '../../shared/ui/notify.js';
import { Reason } from '../../shared/ui/reason.js';
import { type ByHand, takeBackText, whyNot } from './by-hand.js';

const ROUTE = { retry: 'retryOperation', rollback: 'rollbackOperation', cancel: 'cancelOperation' } as const;
const NAME: Readonly<Record<ByHand, string>> = { retry: 'Retry', rollback: 'Roll back', cancel: 'Cancel' };
const TAKE_BACK = { rollback: 'Roll back', cancel: 'Cancel it' } as const;

interface OperationActionsProps {
  readonly operation: Operation;
  readonly titleOf: (chainId: string) => string;
}

/** Retry, roll back and cancel; a button that is disabled says why. */
export function OperationActions({ operation, titleOf }: OperationActionsProps) {
  const client = useQueryClient();
  const may = useMay('operator');
  const change = useMutation({
    mutationFn: (action: ByHand) => call(ROUTE[action], { params: { id: operation.id } }),
    onError: (error) => notifyError('The operation was not changed', error),
    onSettled: () => client.invalidateQueries({ queryKey: ['operations'] }),
  });
  const isOver = operation.state !== 'PROCESSING' && operation.state !== 'FAILED_TEMP';
  if (isOver) return null;
  const common = (action: ByHand) => {
    const reason = whyNot(action, operation, may);
    return { reason, disabled: reason !== null, loading: change.isPending && change.variables === action };
  };
  const { reason: noRetry, ...retry } = common('retry');
  return (
    <Group gap="xs">
      <Reason of={noRetry}>
        <Button variant="default" size="compact-sm" {...retry} onClick={() => change.mutate('retry')}>
          {NAME.retry}
        </Button>
      </Reason>
      {(['rollback', 'cancel'] as const).map((action) => {
        const { reason, ...button } = common(action);
        return (
          <Reason key={action} of={reason}>
            <ConfirmButton
              size="compact-sm"
              {...button}
              message={takeBackText(operation, titleOf)}
              confirmLabel={TAKE_BACK[action]}
              onConfirm={() => change.mutate(action)}
            >
              {NAME[action]}
            </ConfirmButton>
          </Reason>
        );
      })}
      {operation.set_aside && (
        <Text size="xs" c="dimmed">
          Set aside, so that others go on; tried again when {operation.set_aside.waiting_for.join(', ')} is back.
        </Text>
      )}
    </Group>
  );
}
