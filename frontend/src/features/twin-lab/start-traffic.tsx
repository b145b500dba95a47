import { Button, NumberInput, SegmentedControl, Select, TextInput } from '@mantine/core';
import type { HostNode } from '@orrery/contract';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { call } from '../../shared/api/client.js';
import { usePcaps } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import type { Entry } from '../../shared/format/number.js';
import { FormTrouble, fieldErrorOf } from '../../shared/ui/form-trouble.js';
import { Panel } from '../../shared/ui/page-header.js';
import {
  draftProblems,
  EMPTY_DRAFTS,
  NUMBERS,
  requestOf,
  type TrafficDraft,
  type TrafficKind,
} from './traffic-draft.js';
import classes from './twin-lab.module.css';

const KINDS: { value: TrafficKind; label: string; says: string }[] = [
  { value: 'http', label: 'HTTP', says: 'Requests to a web server, with their time to the reply.' },
  { value: 'iperf3', label: 'iperf3', says: 'A TCP or UDP stream at a rate.' },
  { value: 'probe', label: 'Probe', says: 'Small UDP packets that measure one-way latency.' },
  { value: 'pcap', label: 'Replay', says: 'The packets of an uploaded capture.' },
];

const pointerOf = (name: string) => (name === 'rate_mbps' ? '/rate_bps' : `/${name}`);

export function StartTraffic({ hosts }: { readonly hosts: readonly HostNode[] }) {
  const [drafts, setDrafts] = useState(EMPTY_DRAFTS);
  /** Kept when another kind is chosen. */
  const [ends, setEnds] = useState({ from: '', to: '' });
  const [kind, setKind] = useState<TrafficKind>('http');
  const [tried, setTried] = useState(false);
  const pcaps = usePcaps();
  const queries = useQueryClient();
  const mayOperate = useMay('operator');
  const kindLabel = useId();
  const draft: TrafficDraft = { ...drafts[kind], ...ends };
  const set = (change: Readonly<Record<string, Entry>>) =>
    setDrafts((before) => ({ ...before, [kind]: { ...before[kind], ...change } }));
  const start = useMutation({
    mutationFn: () => call('startTraffic', { body: requestOf(draft) }, { idempotencyKey: crypto.randomUUID() }),
    onSuccess: () => {
      setTried(false);
      return queries.invalidateQueries({ queryKey: ['twin'] });
    },
  });
  const problems = draftProblems(draft);
  const numbers = NUMBERS[kind];
  const isNumber = (name: string) => numbers.some((field) => field.name === name);
  /** A choice is missed when something was tried; a number is judged as it is typed. */
  const fieldError = (name: string) =>
    (tried || isNumber(name) ? problems[name] : undefined) ?? fieldErrorOf(start.error, pointerOf(name));
  const shown = ['from', 'to', 'pcap_id', 'path', 'body', ...numbers.map(({ name }) => name)].filter(
    (name) => name in draft,
  );
  const choices = (role?: HostNode['role']) =>
    [...hosts]
      .sort((a, b) => Number(b.role === role) - Number(a.role === role))
      .map(({ id, title, address }) => ({ value: id, label: `${title ?? id} (${address})` }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (Object.keys(problems).length === 0) start.mutate();
    else start.reset();
  };

  return (
    <Panel title="Start traffic">
      <form className={classes.form} onSubmit={submit} noValidate>
        <div>
          <span id={kindLabel} className="sr-only">
            Kind of traffic
          </span>
          <SegmentedControl
            fullWidth
            aria-labelledby={kindLabel}
            data={KINDS.map(({ value, label }) => ({ value, label }))}
            value={kind}
            onChange={(next) => {
              start.reset();
              setTried(false);
              setKind(next as TrafficKind);
            }}
          />
          <p className={classes.hint}>{KINDS.find(({ value }) => value === kind)?.says}</p>
        </div>
        <div className={classes.pair}>
          <Select
            label="From"
            placeholder="Host"
            data={choices('client')}
            value={draft.from || null}
            error={fieldError('from')}
            onChange={(from) => setEnds({ ...ends, from: from ?? '' })}
          />
          {draft.kind === 'pcap' ? (
            <Select
              label="Capture"
              placeholder={pcaps.data?.length === 0 ? 'Upload one below' : 'Capture'}
              data={(pcaps.data ?? []).map(({ id, name, packets }) => ({
                value: id,
                label: `${name} (${packets} packets)`,
              }))}
              value={draft.pcap_id || null}
              error={fieldError('pcap_id')}
              onChange={(id) => set({ pcap_id: id ?? '' })}
            />
          ) : (
            <Select
              label="To"
              placeholder="Host"
              data={choices('server').filter(({ value }) => value !== draft.from)}
              value={draft.to || null}
              error={fieldError('to')}
              onChange={(to) => setEnds({ ...ends, to: to ?? '' })}
            />
          )}
        </div>
        {draft.kind === 'http' && (
          <div className={classes.pair}>
            <TextInput
              label="Path"
              value={draft.path}
              error={fieldError('path')}
              onChange={(event) => set({ path: event.currentTarget.value })}
            />
            <TextInput
              label="Body"
              placeholder="empty: GET"
              value={draft.body}
              error={fieldError('body')}
              onChange={(event) => set({ body: event.currentTarget.value })}
            />
          </div>
        )}
        {draft.kind === 'iperf3' && (
          <SegmentedControl
            aria-label="Protocol"
            data={[
              { value: 'udp', label: 'UDP' },
              { value: 'tcp', label: 'TCP' },
            ]}
            value={draft.protocol}
            onChange={(protocol) => set({ protocol: protocol as 'tcp' | 'udp' })}
          />
        )}
        <div className={classes.pair}>
          {numbers.map(({ name, label, min, max, suffix, description }) => (
            <NumberInput
              key={`${kind} ${name}`}
              label={label}
              description={description}
              inputWrapperOrder={['label', 'input', 'description', 'error']}
              min={min}
              max={max}
              clampBehavior="none"
              suffix={suffix}
              value={(draft as unknown as Readonly<Record<string, Entry>>)[name]}
              error={fieldError(name)}
              onChange={(value) => set({ [name]: value })}
            />
          ))}
        </div>
        <FormTrouble error={start.error} shown={shown.map(pointerOf)} />
        <Button
          type="submit"
          leftSection={<IconPlayerPlay size={14} />}
          loading={start.isPending}
          disabled={!mayOperate}
          title={mayOperate ? undefined : 'Needs the role operator'}
        >
          Start
        </Button>
      </form>
    </Panel>
  );
}
