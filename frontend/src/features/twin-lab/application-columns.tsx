import { ActionIcon, Button, Group } from '@mantine/core';
import { type Application, type ApplicationKindInfo, sampleKey } from '@orrery/contract';
import { IconPencil, IconPlayerPlay, IconPlayerStop, IconRefresh, IconTrash } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import type { Column } from '../../shared/table/column.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { Sparkline } from '../../shared/ui/sparkline.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import type { ApplicationActions } from './application-actions.js';
import { metricText, settingsText } from './application-text.js';
import classes from './twin-lab.module.css';

interface ColumnsContext {
  readonly kinds: readonly ApplicationKindInfo[];
  readonly nameOfPcap: (id: string) => string;
  readonly actions: ApplicationActions;
  readonly edit: (application: Application) => void;
}

export function applicationColumns({
  kinds,
  nameOfPcap,
  actions,
  edit,
}: ColumnsContext): readonly Column<Application>[] {
  const kindOf = ({ definition }: Application) => kinds.find(({ id }) => id === definition.kind);
  return [
    {
      id: 'application',
      title: 'Application',
      className: classes.application,
      value: ({ id }) => id,
      cell: (application) => (
        <>
          <strong>{application.id}</strong>
          <span className={classes.small}>{kindOf(application)?.title ?? application.definition.kind}</span>
          <span className={classes.small}>{settingsText(application, kindOf(application), nameOfPcap)}</span>
        </>
      ),
    },
    { id: 'node', title: 'Node', className: classes.link, value: ({ definition }) => definition.node },
    {
      id: 'state',
      title: 'State',
      value: ({ status }) => status.state,
      cell: (application) => <State {...application} />,
    },
    {
      id: 'recent',
      title: 'Rate, last 30 s',
      cell: ({ id }) => (
        <Sparkline sampleKey={sampleKey('application', id, 'bps')} quantity="bps" label={`${id}, rate`} />
      ),
    },
    {
      id: 'metrics',
      title: 'Measured',
      className: classes.metrics,
      cell: ({ status }) => <Metrics metrics={status.metrics} />,
    },
    {
      id: 'actions',
      title: 'Actions',
      untitled: true,
      className: classes.actions,
      cell: (application) => <Actions application={application} actions={actions} edit={edit} />,
    },
  ];
}

function State({ status }: Application) {
  const { state, detail, since_ms, restarts } = status;
  return (
    <>
      <StatusBadge state={state} />
      <span className={classes.small}>
        {since_ms !== null && <RelativeTime t_ms={since_ms} />}
        {restarts > 0 && `, ${restarts} ${restarts === 1 ? 'restart' : 'restarts'}`}
      </span>
      {detail && (
        <span className={classes.small} data-failed={state === 'failed' || undefined}>
          {detail}
        </span>
      )}
    </>
  );
}

function Metrics({ metrics }: Pick<Application['status'], 'metrics'>) {
  const measured = metrics.filter(({ value }) => value !== null);
  if (measured.length === 0) return <span className="muted">–</span>;
  return (
    <dl className={classes.measured}>
      {measured.map((metric) => (
        <div key={metric.name}>
          <dt>{metric.title}</dt>
          <dd className="tabular">
            <LastKnown word="">{metricText(metric)}</LastKnown>
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface ActionsProps {
  readonly application: Application;
  readonly actions: ApplicationActions;
  readonly edit: (application: Application) => void;
}

function Actions({ application, actions, edit }: ActionsProps) {
  const { id, definition, status } = application;
  const isOver = status.state === 'completed' || status.state === 'failed';
  const button = (label: string, icon: ReactNode, onClick: () => void) => (
    <ActionIcon
      variant="default"
      aria-label={`${label} ${id}`}
      title={actions.may ? label : 'Needs the role operator'}
      disabled={!actions.may || actions.busy === id}
      onClick={onClick}
    >
      {icon}
    </ActionIcon>
  );
  return (
    <Group gap={4} wrap="nowrap" justify="flex-end">
      {definition.enabled &&
        isOver &&
        button('Run again', <IconRefresh size={14} />, () => actions.run('restart', application))}
      <Button
        size="compact-xs"
        variant="default"
        aria-label={`${definition.enabled ? 'Stop' : 'Start'} ${id}`}
        leftSection={definition.enabled ? <IconPlayerStop size={13} /> : <IconPlayerPlay size={13} />}
        disabled={!actions.may || actions.busy === id}
        title={actions.may ? undefined : 'Needs the role operator'}
        onClick={() => actions.run(definition.enabled ? 'stop' : 'start', application)}
      >
        {definition.enabled ? 'Stop' : 'Start'}
      </Button>
      {button('Edit', <IconPencil size={14} />, () => edit(application))}
      {button('Delete', <IconTrash size={14} />, () => actions.run('delete', application))}
    </Group>
  );
}
