import { ActionIcon, CopyButton, Tooltip } from '@mantine/core';
import type { ScenarioReport } from '@orrery/contract';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { dateTimeText, durationText } from '../../shared/format/time.js';
import { Panel } from '../../shared/page/page-header.js';
import { parameterTexts } from '../../shared/scenario/parameter-texts.js';
import { RunBadge } from '../../shared/scenario/run-badge.js';
import { useScenarios } from '../../shared/scenario/use-scenarios.js';
import { useNow } from '../../shared/stream/clock.js';
import { Facts } from '../../shared/ui/detail-panel.js';
import { commandOf } from './report-files.js';
import classes from './scenario-report.module.css';

function Command({ text }: { readonly text: string }) {
  return (
    <span className={classes.command}>
      <code>{text}</code>
      <CopyButton value={text}>
        {({ copied, copy }) => (
          <Tooltip label={copied ? 'Copied' : 'Copy the command'}>
            <ActionIcon size="sm" aria-label="Copy the command" onClick={copy}>
              {copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
    </span>
  );
}

/** What ran, when, started by whom, and the outcome. */
export function RunFacts({ report }: { readonly report: ScenarioReport }) {
  const now = useNow();
  const scenario = useScenarios().data?.find(({ id }) => id === report.scenario_id);
  const { detail, source, started_ms, ended_ms, by, parameters } = report;
  return (
    <Panel title="Run">
      <Facts
        items={[
          ['State', <RunBadge key="state" run={report} />],
          ...(detail ? [['Reason', detail] as const] : []),
          ...(source ? [['Published in', source] as const] : []),
          ['Started', dateTimeText(started_ms)],
          ['Duration', durationText((ended_ms ?? now) - started_ms)],
          ['By', by || '–'],
          ...parameterTexts(scenario, parameters),
          ['Run it again', <Command key="command" text={commandOf(report)} />],
        ]}
      />
    </Panel>
  );
}
