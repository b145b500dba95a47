import { Button } from '@mantine/core';
import type { ChainNotKept } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from 'react-router';
import { chainPath, useChainTitle } from '../../shared/api/chains.js';
import { call } from '../../shared/api/client.js';
import { useChainsNotKept } from '../../shared/api/queries.js';
import { Panel } from '../../shared/page/page-header.js';
import { constraintText } from '../../shared/plan/plan-text.js';
import { DataTable } from '../../shared/table/data-table.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { notifyDone, notifyError } from '../../shared/ui/notify.js';
import { Reason } from '../../shared/ui/reason.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import classes from './agents.module.css';

/** Chains that were taken down for want of room, the most important first; nothing while there is none. */
export function ChainsNotKept({ may }: { readonly may: boolean }) {
  const query = useChainsNotKept();
  const titleOf = useChainTitle();
  if (query.data?.length === 0 || query.isPending) return null;
  return (
    <Panel title="Not kept">
      <DataTable
        label="Chains that are not kept"
        query={query}
        cards={620}
        columns={[
          {
            id: 'chain',
            title: 'Chain',
            value: ({ chain_id }) => titleOf(chain_id),
            cell: ({ chain_id }) => <Link to={chainPath(chain_id)}>{titleOf(chain_id)}</Link>,
          },
          { id: 'priority', title: 'Priority', number: true, value: ({ priority }) => priority },
          {
            id: 'lacks',
            title: 'What it lacks',
            className: classes.detail,
            value: ({ because, constraint }) => (constraint ? constraintText(constraint) : because),
          },
          {
            id: 'since',
            title: 'Taken down',
            value: ({ since_ms }) => since_ms,
            cell: ({ since_ms }) => <RelativeTime t_ms={since_ms} />,
          },
          {
            id: 'actions',
            title: 'Actions',
            untitled: true,
            cell: (chain) => <Actions chain={chain} title={titleOf(chain.chain_id)} may={may} />,
          },
        ]}
        rows={query.data ?? []}
        rowKey={({ chain_id }) => chain_id}
      />
    </Panel>
  );
}

interface ActionsProps {
  readonly chain: ChainNotKept;
  readonly title: string;
  readonly may: boolean;
}

function Actions({ chain: { chain_id, operation_id, given_up_by }, title, may }: ActionsProps) {
  const queries = useQueryClient();
  const params = { chain_id };
  const onSettled = () => queries.invalidateQueries({ queryKey: ['chains-not-kept'] });
  const again = useMutation({
    mutationFn: () => call('deployNotKept', { params }),
    onSuccess: () => notifyDone(`${title} is being deployed.`),
    onError: (error) => notifyError(`${title} has no place`, error),
    onSettled,
  });
  const giveUp = useMutation({
    mutationFn: () => call('giveUpNotKept', { params }),
    onSuccess: () => notifyDone(`${title} is given up.`),
    onError: (error) => notifyError(`${title} was not given up`, error),
    onSettled,
  });
  const under = given_up_by === null ? 'It is being deployed' : 'It is being given up';
  const reason = !may ? 'Needs the role operator' : operation_id !== null ? under : null;
  return (
    <span className={classes.actions}>
      <Reason of={reason}>
        <Button
          variant="default"
          size="compact-xs"
          aria-label={`Try to deploy ${title} again`}
          disabled={reason !== null}
          loading={again.isPending}
          onClick={() => again.mutate()}
        >
          Try again
        </Button>
      </Reason>
      <Reason of={reason}>
        <ConfirmButton
          size="compact-xs"
          aria-label={`Give up ${title}`}
          disabled={reason !== null}
          message={`${title} is not deployed again by itself, and its packets pass without it.`}
          confirmLabel="Give up"
          onConfirm={() => giveUp.mutate()}
        >
          Give up…
        </ConfirmButton>
      </Reason>
    </span>
  );
}
