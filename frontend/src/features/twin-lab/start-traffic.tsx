import { Button, NumberInput, SegmentedControl, Select, TextInput } from '@mantine/core';
import type { HostNode } from '@orrery/contract';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useId, useState } from 'react';
import { ApiError, call } from '../../shared/api/client.js';
import { usePcaps } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { Panel } from '../../shared/ui/page-header.js';
import { FieldErrors } from '../../shared/ui/states.js';
import { EMPTY_DRAFT, missingFields, requestOf, type TrafficDraft, type TrafficKind } from './traffic-draft.js';
import classes from './twin-lab.module.css';

const KINDS: { value: TrafficKind; label: string; says: string }[] = [
  { value: 'http', label: 'HTTP', says: 'Requests to a web server, with their time to the reply.' },
  { value: 'iperf3', label: 'iperf3', says: 'A TCP or UDP stream at a rate.' },
  { value: 'probe', label: 'Probe', says: 'Small UDP packets that measure one-way latency.' },
  { value: 'pcap', label: 'Replay', says: 'The packets of an uploaded capture.' },
];

interface Field {
  readonly name: keyof TrafficDraft;
  readonly label: string;
  readonly min: number;
  readonly max: number;
  readonly suffix?: string;
}

const NUMBERS: Record<TrafficKind, readonly Field[]> = {
  http: [
    { name: 'rate_per_s', label: 'Rate', min: 1, max: 2000, suffix: ' requests/s' },
    { name: 'port', label: 'Port', min: 1, max: 65535 },
  ],
  iperf3: [
    { name: 'rate_mbps', label: 'Rate', min: 1, max: 10_000, suffix: ' Mbit/s' },
    { name: 'packet_bytes', label: 'Packet', min: 64, max: 1460, suffix: ' bytes' },
  ],
  probe: [{ name: 'rate_per_s', label: 'Rate', min: 1, max: 1000, suffix: ' probes/s' }],
  pcap: [
    { name: 'rate_pps', label: 'Rate', min: 1, max: 100_000, suffix: ' packets/s' },
    { name: 'loops', label: 'Times', min: 1, max: 1000 },
  ],
};

export function StartTraffic({ hosts }: { readonly hosts: readonly HostNode[] }) {
  const [draft, setDraft] = useState(EMPTY_DRAFT);
  const [tried, setTried] = useState(false);
  const pcaps = usePcaps();
  const queries = useQueryClient();
  const mayOperate = useMay('operator');
  const kindLabel = useId();
  const set = (change: Partial<TrafficDraft>) => setDraft((before) => ({ ...before, ...change }));
  const start = useMutation({
    mutationFn: () => call('startTraffic', { body: requestOf(draft) }, { idempotencyKey: crypto.randomUUID() }),
    onSuccess: () => {
      setTried(false);
      return queries.invalidateQueries({ queryKey: ['twin'] });
    },
  });
  const missing = missingFields(draft);
  const fieldError = (name: keyof TrafficDraft) => {
    if (tried && missing.includes(name)) return 'Choose one';
    if (!(start.error instanceof ApiError)) return undefined;
    const pointer = name === 'rate_mbps' ? '/rate_bps' : `/${name}`;
    return start.error.errors.find((error) => error.pointer === pointer)?.detail;
  };
  const choices = (role?: HostNode['role']) =>
    [...hosts]
      .sort((a, b) => Number(b.role === role) - Number(a.role === role))
      .map(({ id, title, address }) => ({ value: id, label: `${title ?? id} (${address})` }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (missing.length === 0) start.mutate();
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
            value={draft.kind}
            onChange={(kind) => {
              start.reset();
              set({ kind: kind as TrafficKind });
            }}
          />
          <p className={classes.hint}>{KINDS.find(({ value }) => value === draft.kind)?.says}</p>
        </div>
        <div className={classes.pair}>
          <Select
            label="From"
            placeholder="Host"
            data={choices('client')}
            value={draft.from || null}
            error={fieldError('from')}
            onChange={(from) => set({ from: from ?? '' })}
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
              onChange={(to) => set({ to: to ?? '' })}
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
          {NUMBERS[draft.kind].map(({ name, label, min, max, suffix }) => (
            <NumberInput
              key={name}
              label={label}
              min={min}
              max={max}
              clampBehavior="blur"
              suffix={suffix}
              value={draft[name] as number}
              error={fieldError(name)}
              onChange={(value) => typeof value === 'number' && set({ [name]: value })}
            />
          ))}
          <NumberInput
            label="For"
            description={draft.kind === 'iperf3' ? undefined : '0: until it is stopped'}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            min={draft.kind === 'iperf3' ? 1 : 0}
            max={86_400}
            clampBehavior="blur"
            suffix=" s"
            value={draft.duration_s}
            error={fieldError('duration_s')}
            onChange={(value) => typeof value === 'number' && set({ duration_s: value })}
          />
        </div>
        {start.error && (
          <div role="alert" className={classes.trouble}>
            {start.error.message}
            <FieldErrors error={start.error} />
          </div>
        )}
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
