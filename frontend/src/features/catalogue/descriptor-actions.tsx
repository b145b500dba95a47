import { Button, Group } from '@mantine/core';
import type { CataloguedNf } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { notifyError } from '../../shared/ui/notify.js';

interface DescriptorActionsProps {
  readonly descriptor: CataloguedNf;
  readonly onEdit: () => void;
  readonly onDeleted: () => void;
}

/** For a legacy NF that a user described. */
export function DescriptorActions({ descriptor, onEdit, onDeleted }: DescriptorActionsProps) {
  const queries = useQueryClient();
  const { id, title, written } = descriptor;
  const remove = useMutation({
    mutationFn: () => call('deleteNfDescriptor', { params: { id } }, { ifMatch: `"${written?.revision}"` }),
    onSuccess: onDeleted,
    onError: (error) => notifyError(`${title} is not deleted`, error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['nf-descriptors'] }),
  });
  return (
    <Group gap="xs">
      <Button variant="default" onClick={onEdit}>
        Edit
      </Button>
      <ConfirmButton
        message={`${title} leaves the catalogue. Chains cannot use it any more.`}
        confirmLabel="Delete NF"
        loading={remove.isPending}
        onConfirm={() => remove.mutate()}
      >
        Delete
      </ConfirmButton>
    </Group>
  );
}
