import { Button } from '@mantine/core';
import type { Loop } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { notifyError } from '../../shared/ui/notify.js';

interface PauseButtonProps {
  readonly loop: Loop;
  readonly mayPause: boolean;
}

export function PauseButton({ loop: { id, title, state }, mayPause }: PauseButtonProps) {
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: (route: 'pauseLoop' | 'resumeLoop') => call(route, { params: { id } }),
    onError: (error) => notifyError(`${title} was not changed`, error),
    onSettled: () => client.invalidateQueries({ queryKey: ['loops'] }),
  });
  const refusal = { disabled: !mayPause, title: mayPause ? undefined : 'Needs the role operator' };
  if (state === 'paused')
    return (
      <Button
        size="compact-xs"
        aria-label={`Resume ${title}`}
        {...refusal}
        loading={change.isPending}
        onClick={() => change.mutate('resumeLoop')}
      >
        Resume
      </Button>
    );
  return (
    <ConfirmButton
      size="compact-xs"
      aria-label={`Pause ${title}`}
      {...refusal}
      loading={change.isPending}
      message="It finishes its run and begins no other until it is resumed, also after a restart of the server."
      confirmLabel="Pause"
      onConfirm={() => change.mutate('pauseLoop')}
    >
      Pause
    </ConfirmButton>
  );
}
