import { Button, Checkbox, Group, Progress, Textarea } from '@mantine/core';
import type { BulkAnswer, ServicePool, ServiceRequestSpec } from '@orrery/contract';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../shared/api/client.js';
import { countText } from '../../shared/format/number.js';
import { quantityText } from '../../shared/format/quantity.js';
import { FormDialog } from '../../shared/ui/form-dialog.js';
import { FormTrouble } from '../../shared/ui/form-trouble.js';
import { AcceptanceChart } from './acceptance-chart.js';
import { exampleOf, parseRequests } from './bulk-text.js';
import classes from './service-requests.module.css';

const LOOK_MS = 500;

/** A call under way, which ends without effect when its connection is closed. */
interface Sending {
  readonly id: string;
  readonly requests: ServiceRequestSpec[];
  readonly stop: AbortController;
}

interface BulkDialogProps {
  /** Of which the example is. */
  readonly pool: ServicePool;
  readonly onClose: () => void;
}

/** Many requests as text; shows how far they have come, and says which were accepted. */
export default function BulkDialog({ pool, onClose }: BulkDialogProps) {
  const queries = useQueryClient();
  const [text, setText] = useState(() => exampleOf(pool));
  const [dryRun, setDryRun] = useState(true);
  const [problem, setProblem] = useState<string | null>(null);
  const send = useMutation({
    mutationFn: ({ id, requests, stop: { signal } }: Sending) =>
      call(
        'createServiceRequests',
        { body: { requests, dry_run: dryRun, progress_id: id } },
        { idempotencyKey: id, signal },
      ),
    onSettled: () => {
      void queries.invalidateQueries({ queryKey: ['service-requests'] });
      void queries.invalidateQueries({ queryKey: ['service-pools'] });
    },
  });
  const submit = () => {
    send.reset();
    const parsed = parseRequests(text);
    setProblem(parsed.ok ? null : parsed.problem);
    if (parsed.ok) send.mutate({ id: crypto.randomUUID(), requests: parsed.requests, stop: new AbortController() });
  };
  const sending = send.isPending ? send.variables : undefined;
  const cancel = () => {
    sending?.stop.abort();
    send.reset();
  };
  const close = () => {
    sending?.stop.abort();
    onClose();
  };
  return (
    <FormDialog
      title="Requests in bulk"
      size={760}
      dismiss="Close"
      trouble={<FormTrouble error={send.error} shown={[]} />}
      action={
        <Button type="submit" loading={send.isPending}>
          {dryRun ? 'Try' : 'Request'}
        </Button>
      }
      onSubmit={submit}
      onClose={close}
    >
      <Textarea
        label="Requests"
        description="CSV with a head line, or JSON as in the API; at most 10,000"
        classNames={{ input: classes.text }}
        autosize
        minRows={6}
        maxRows={14}
        spellCheck={false}
        value={text}
        error={problem}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setProblem(null);
        }}
      />
      <Checkbox
        mt="sm"
        label="Only try: nothing is booked"
        checked={dryRun}
        onChange={(event) => setDryRun(event.currentTarget.checked)}
      />
      {sending && <Waiting sending={sending} onCancel={cancel} />}
      {send.data && <Answer answer={send.data} />}
    </FormDialog>
  );
}

function Waiting({ sending: { id, requests }, onCancel }: { sending: Sending; onCancel: () => void }) {
  const { data } = useQuery({
    queryKey: ['bulk-progress', id],
    queryFn: () => call('getBulkProgress', { params: { id } }),
    refetchInterval: LOOK_MS,
    retry: false,
  });
  const { decided = 0, accepted = 0 } = data ?? {};
  return (
    <section aria-label="Progress" className={classes.answer}>
      <Progress value={(100 * decided) / requests.length} aria-label="Decided" />
      <Group justify="space-between" mt="xs">
        <span role="status">
          {countText(decided)} of {countText(requests.length)} decided, {countText(accepted)} accepted
        </span>
        <Button variant="default" size="compact-sm" onClick={onCancel}>
          Cancel: book nothing
        </Button>
      </Group>
    </section>
  );
}

function Answer({ answer }: { readonly answer: BulkAnswer }) {
  const { accepted, refused, dry_run, decided_ms, results } = answer;
  const reasons = new Map<string, number>();
  for (const { why } of results) if (why !== null) reasons.set(why, (reasons.get(why) ?? 0) + 1);
  const often = [...reasons].sort(([, a], [, b]) => b - a).slice(0, 5);
  return (
    <section aria-label="Acceptance" className={classes.answer}>
      <p>
        {countText(accepted)} {dry_run ? 'would be accepted' : 'accepted'}, {countText(refused)} refused; decided in{' '}
        {quantityText('ms', decided_ms)}.
      </p>
      <AcceptanceChart results={results} />
      {often.length > 0 && (
        <ul className={classes.reasons}>
          {often.map(([why, count]) => (
            <li key={why}>
              {countText(count)}: {why}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
