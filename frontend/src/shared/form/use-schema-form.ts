import { useMutation } from '@tanstack/react-query';
import { useCallback, useMemo, useRef, useState } from 'react';
import { ApiError } from '../api/client.js';
import { fieldErrorOf } from '../ui/form-trouble.js';
import type { FormField } from './field-model.js';
import { formProblems } from './field-problems.js';
import type { Values } from './field-values.js';
import type { OnRejected } from './rejected-entries.js';
import { type FieldsProps, type FormBinding, pointerOf } from './widget.js';

interface SchemaFormOptions<Answer> extends Pick<FormBinding, 'widgets'> {
  /** The fields, some of which may depend on what others hold. */
  readonly fieldsOf: (values: Values) => readonly FormField[];
  readonly initial: Values;
  readonly references?: (values: Values) => FormBinding['references'];
  /** Checks beyond the schema, by JSON Pointer. */
  readonly check?: (values: Values) => Readonly<Record<string, string>>;
  /** Restores consistency after a change, e.g. removes an option that is no longer allowed. */
  readonly adjust?: (after: Values, before: Values) => Values;
  readonly send: (values: Values) => Promise<Answer>;
  readonly onSent: (answer: Answer) => void;
  /** Sent or refused. */
  readonly onSettled?: () => void;
  readonly readOnly?: boolean;
}

interface SchemaForm {
  /** For `SchemaFields`. */
  readonly bound: FieldsProps;
  readonly values: Values;
  /** Sends the values if they are valid, otherwise shows the errors at their fields. */
  readonly submit: () => void;
  readonly isPending: boolean;
  /** Why the server refused. */
  readonly error: unknown;
  /** Pointers of the errors that are shown at their fields. */
  readonly shown: readonly string[];
}

/** Whether a pointer leads to a field of the form, or into one. */
const hasField = (fields: readonly FormField[]) => (pointer: string) =>
  fields.some(({ key }) => pointer === `/${key}` || pointer.startsWith(`/${key}/`));

/** The state of a form that is filled in and then sent. */
export function useSchemaForm<Answer>(options: SchemaFormOptions<Answer>): SchemaForm {
  const { fieldsOf, initial, check, adjust, send, onSent, onSettled, widgets, references, readOnly = false } = options;
  const [values, setValues] = useState(initial);
  const fields = useMemo(() => fieldsOf(values), [fieldsOf, values]);
  const [tried, setTried] = useState(false);
  const rejected = useRef(new Set<string>());
  const onRejected: OnRejected = useCallback((key, problem) => {
    if (problem === null) rejected.current.delete(key);
    else rejected.current.add(key);
  }, []);
  const { mutate, reset, error, isPending } = useMutation({ mutationFn: send, onSuccess: onSent, onSettled });
  const problems = useMemo(
    () => new Map([...formProblems(fields, values), ...Object.entries(check?.(values) ?? {})]),
    [fields, values, check],
  );
  const form: FormBinding = {
    readOnly,
    widgets,
    references: references?.(values),
    takesGaps: true,
    onRejected,
    autoFocus: fields[0] && pointerOf([fields[0].key]),
    onChange: (_, next) => setValues(adjust ? adjust(next, values) : next),
    problemAt: (path) => {
      const pointer = pointerOf(path);
      return (tried ? problems.get(pointer) : undefined) ?? fieldErrorOf(error, pointer) ?? null;
    },
  };
  const submit = () => {
    setTried(true);
    if (problems.size === 0 && rejected.current.size === 0) mutate(values);
    else reset();
  };
  const shown = error instanceof ApiError ? error.errors.map(({ pointer }) => pointer).filter(hasField(fields)) : [];
  return { bound: { form, fields, values, path: [] }, values, submit, isPending, error, shown };
}
