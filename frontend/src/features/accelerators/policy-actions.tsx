import { Button, Switch } from '@mantine/core';
import type { ReconfigurationPolicy, ReconfigurationPolicyRequest } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { notifyError } from '../../shared/ui/notify.js';

function requestOf(policy: ReconfigurationPolicy, enabled: boolean): ReconfigurationPolicyRequest {
  const { id: _id, revision: _revision, load_now: _load, state: _state, ...fields } = policy;
  return { ...fields, enabled };
}

const etagOf = ({ revision }: ReconfigurationPolicy) => `"${revision}"`;

export function EnabledSwitch({ policy, may }: { readonly policy: ReconfigurationPolicy; readonly may: boolean }) {
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: (enabled: boolean) =>
      call(
        'putReconfigurationPolicy',
        { params: { id: policy.id }, body: requestOf(policy, enabled) },
        { ifMatch: etagOf(policy) },
      ),
    onError: (error) => notifyError('The policy was not changed', error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['reconfiguration-policies'] }),
  });
  if (!may) return <>{policy.enabled ? 'yes' : 'no'}</>;
  return (
    <Switch
      size="xs"
      aria-label={`${policy.title} enabled`}
      checked={change.isPending ? change.variables : policy.enabled}
      onChange={(event) => change.mutate(event.currentTarget.checked)}
    />
  );
}

function DeletePolicy({ policy }: { readonly policy: ReconfigurationPolicy }) {
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () => call('deleteReconfigurationPolicy', { params: { id: policy.id } }, { ifMatch: etagOf(policy) }),
    onError: (error) => notifyError('The policy was not deleted', error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['reconfiguration-policies'] }),
  });
  return (
    <ConfirmButton
      size="compact-xs"
      loading={remove.isPending}
      aria-label={`Delete ${policy.title}`}
      message={`${policy.title} no longer moves NFs. Running NFs stay where they are.`}
      confirmLabel="Delete"
      onConfirm={() => remove.mutate()}
    >
      Delete
    </ConfirmButton>
  );
}

interface PolicyActionsProps {
  readonly policy: ReconfigurationPolicy;
  readonly onEdit: (policy: ReconfigurationPolicy) => void;
}

export function PolicyActions({ policy, onEdit }: PolicyActionsProps) {
  return (
    <span>
      <Button variant="default" size="compact-xs" aria-label={`Edit ${policy.title}`} onClick={() => onEdit(policy)}>
        Edit
      </Button>
      <DeletePolicy policy={policy} />
    </span>
  );
}
