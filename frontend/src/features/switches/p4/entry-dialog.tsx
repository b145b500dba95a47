import { Button, NumberInput, Select, TextInput } from '@mantine/core';
import { needsPriority, type P4Content, type P4DefaultAction, type P4Entry } from '@orrery/contract';
import { useState } from 'react';
import { ApiError } from '../../../shared/api/client.js';
import { FormDialog } from '../../../shared/ui/form-dialog.js';
import { FormTrouble } from '../../../shared/ui/form-trouble.js';
import { isOfTable, MATCH_HINTS, type P4Table, useChangeEntries, widthText } from './entries.js';
import classes from './p4.module.css';

interface EntryDialogProps {
  readonly switchId: string;
  readonly content: P4Content;
  readonly table: P4Table;
  /** An entry, or the action of packets that no entry takes. */
  readonly of: 'entries' | 'default';
  readonly onClose: () => void;
}

type Values = Readonly<Record<string, string>>;

/** Adds an entry to a table, or sets its default action; each error is shown at its field. */
export function EntryDialog({ switchId, content, table, of, onClose }: EntryDialogProps) {
  const usable = table.actions.filter((one) => one.of === 'both' || one.of === of);
  const [match, setMatch] = useState<Values>({});
  const [priority, setPriority] = useState<number | string>(100);
  const [action, setAction] = useState(usable[0]?.name ?? '');
  const [params, setParams] = useState<Values>({});
  const change = useChangeEntries(switchId);
  const wanted = content.actions.find(({ name }) => name === action);
  const own = Object.fromEntries((wanted?.params ?? []).map(({ name }) => [name, params[name] ?? '']));
  const called = { table: table.name, action, params: filled(own) };
  const submit = () => {
    const entry: P4Entry = {
      ...called,
      match: filled(match),
      ...(needsPriority(table) && typeof priority === 'number' && { priority }),
    };
    const put = (before: readonly P4DefaultAction[]) => [
      ...before.filter((one) => !isOfTable(content, table, one)),
      called,
    ];
    change.mutate(
      (before) =>
        of === 'entries'
          ? { ...before, entries: [...before.entries, entry] }
          : { ...before, default_actions: put(before.default_actions) },
      { onSuccess: onClose },
    );
  };
  const errorAt = fieldErrors(change.error);
  const text = (value: Values, set: (next: Values) => void, name: string) => ({
    value: value[name] ?? '',
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) =>
      set({ ...value, [name]: currentTarget.value }),
  });
  return (
    <FormDialog
      title={of === 'entries' ? `Add an entry to ${table.name}` : `Default action of ${table.name}`}
      size={520}
      trouble={<FormTrouble error={change.error} shown={errorAt.shown} />}
      action={
        <Button type="submit" loading={change.isPending}>
          {of === 'entries' ? 'Add entry' : 'Set default action'}
        </Button>
      }
      onSubmit={submit}
      onClose={onClose}
    >
      <div className={classes.form}>
        {of === 'entries' &&
          table.fields.map(({ name, bits, match: kind }) => (
            <TextInput
              key={name}
              label={`Match ${name}`}
              description={`${kind}: ${MATCH_HINTS[kind]}; ${widthText(bits)}`}
              required={kind === 'exact'}
              error={errorAt.of(`match/${name}`)}
              {...text(match, setMatch, name)}
            />
          ))}
        {of === 'entries' && needsPriority(table) && (
          <NumberInput
            label="Priority"
            description="the highest wins"
            min={1}
            value={priority}
            onChange={setPriority}
            error={errorAt.of('priority')}
          />
        )}
        <Select
          label="Action"
          data={usable.map(({ name }) => name)}
          allowDeselect={false}
          value={action}
          onChange={(value) => value && setAction(value)}
          error={errorAt.of('action')}
        />
        {wanted?.params.map(({ name, bits }) => (
          <TextInput
            key={name}
            label={`Parameter ${name}`}
            description={widthText(bits)}
            required
            error={errorAt.of(`params/${name}`)}
            {...text(params, setParams, name)}
          />
        ))}
      </div>
    </FormDialog>
  );
}

const filled = (values: Values): Record<string, string> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim() !== ''));

/** Errors of the entry or default action in question, by the part of their pointer behind its index. */
function fieldErrors(error: unknown) {
  const errors = error instanceof ApiError ? error.errors : [];
  const partOf = (pointer: string) => /^\/(?:entries|default_actions)\/\d+\/(.+)$/.exec(pointer)?.[1];
  const isField = (part: string | undefined) =>
    part !== undefined && /^(match|params)\/|^(priority|action)$/.test(part);
  return {
    of: (part: string) => errors.find(({ pointer }) => partOf(pointer) === part)?.detail,
    shown: errors.flatMap(({ pointer }) => (isField(partOf(pointer)) ? [pointer] : [])),
  };
}
