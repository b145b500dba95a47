import { Button, Group } from '@mantine/core';
import type { CataloguedNf } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { call } from '../../shared/api/client.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { notifyDone, notifyError } from '../../shared/ui/notify.js';

const LearnDialog = lazy(() => import('./learn-dialog.js'));

/** Learns the cost of an NF from measurements, or drops what was learnt. */
export function LearnActions({ descriptor }: { readonly descriptor: CataloguedNf }) {
  const [isOpen, setOpen] = useState(false);
  const queries = useQueryClient();
  const { id, title, learnt, implementations } = descriptor;
  const forget = useMutation({
    mutationFn: () => call('forgetNfDescriptor', { params: { id } }),
    onSuccess: () => notifyDone(`Plans reckon with the declared cost of ${title}.`),
    onError: (error) => notifyError('What was learnt is not dropped', error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['nf-descriptors'] }),
  });
  if (implementations.every(({ driver }) => driver === 'board')) return null;
  return (
    <Group gap="xs">
      <Button variant="default" onClick={() => setOpen(true)}>
        Learn from measurements…
      </Button>
      {learnt && (
        <ConfirmButton
          message={`Plans reckon with the declared cost of ${title} again.`}
          confirmLabel="Use what is declared"
          loading={forget.isPending}
          onConfirm={() => forget.mutate()}
        >
          Drop what was learnt
        </ConfirmButton>
      )}
      {isOpen && (
        <Suspense fallback={null}>
          <LearnDialog descriptor={descriptor} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </Group>
  );
}
