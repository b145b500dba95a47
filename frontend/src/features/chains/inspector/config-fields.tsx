import {
  ActionIcon,
  Autocomplete,
  Button,
  Checkbox,
  Fieldset,
  JsonInput,
  NumberInput,
  type NumberInputProps,
  Select,
  Textarea,
  TextInput,
} from '@mantine/core';
import { IconChevronRight, IconPlus, IconTrash } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import {
  type FormField,
  fieldProblem,
  initialValue,
  type ListField,
  type NumberField,
  newRow,
  type RowsField,
  rowSummary,
  type TextField,
  textValue,
} from '../../../editor-model/config-form.js';
import type { Entry } from '../../../shared/format/number.js';
import classes from './inspector.module.css';
import { RateInput } from './rate-input.js';

type Values = Record<string, unknown>;
/** Where a field is: keys and indices from the configuration down. */
type Path = readonly (string | number)[];

export interface ConfigForm {
  readonly onChange: (path: Path, values: Values) => void;
  /** What the validator says of exactly this place, or null. */
  readonly problemAt: (path: Path) => string | null;
  readonly readOnly: boolean;
}

interface FieldsProps {
  readonly form: ConfigForm;
  readonly fields: readonly FormField[];
  readonly values: Values;
  readonly path: Path;
  /** Said before each label to a screen reader where several rows have the same fields. */
  readonly context?: string;
  /** Without descriptions. */
  readonly compact?: boolean;
}

/** A form for the fields of a configuration schema; every change hands on the whole object. */
export function ConfigFields({ form, fields, values, path, context = '', compact = false }: FieldsProps) {
  return fields.map((field) => (
    <FieldInput
      key={field.key}
      field={field}
      value={values[field.key]}
      path={[...path, field.key]}
      hideLabel={false}
      compact={compact}
      label={context ? `${context}, ${field.title}` : field.title}
      form={form}
      onChange={(value) => {
        const { [field.key]: _, ...rest } = values;
        form.onChange([...path, field.key], value === undefined ? rest : { ...values, [field.key]: value });
      }}
    />
  ));
}

interface FieldProps<Field extends FormField> {
  readonly field: Field;
  readonly value: unknown;
  readonly path: Path;
  readonly label: string;
  readonly hideLabel: boolean;
  readonly compact?: boolean;
  readonly form: ConfigForm;
  readonly onChange: (value: unknown) => void;
}

function FieldInput(props: FieldProps<FormField>) {
  const { field, value, path, label, hideLabel, compact, form, onChange } = props;
  const problem = (value === undefined ? null : fieldProblem(field, value)) ?? form.problemAt(path);
  const common = {
    label: hideLabel ? undefined : field.title,
    'aria-label': hideLabel || compact ? label : undefined,
    description: hideLabel || compact ? undefined : field.description || undefined,
    error: problem,
    disabled: form.readOnly,
    required: field.required && !hideLabel,
  };
  const fallback = value === undefined && field.default !== undefined ? `${field.default}` : undefined;
  switch (field.kind) {
    case 'text':
      return <TextEntry field={field} value={value} common={common} onChange={onChange} />;
    case 'number':
      return field.key.endsWith('_bps') ? (
        <RateInput
          label={hideLabel ? label : field.title.replace(' (bit/s)', '')}
          hideLabel={hideLabel}
          description={common.description}
          error={problem}
          disabled={form.readOnly}
          value={typeof value === 'number' ? value : typeof field.default === 'number' ? field.default : null}
          onChange={(rate) => rate !== null && onChange(rate)}
        />
      ) : (
        <NumberFieldInput
          {...common}
          field={field}
          value={typeof value === 'number' ? value : ''}
          placeholder={fallback}
          hideControls={hideLabel}
          onChange={onChange}
        />
      );
    case 'boolean':
      return (
        <Checkbox
          size="xs"
          label={hideLabel ? undefined : field.title}
          aria-label={common['aria-label']}
          description={common.description}
          error={problem}
          disabled={form.readOnly}
          checked={typeof value === 'boolean' ? value : field.default === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      );
    case 'choice':
      return (
        <Select
          {...common}
          data={field.options.map((option) => ({ value: String(option.value), label: option.title }))}
          value={value === undefined ? (field.default === undefined ? null : String(field.default)) : String(value)}
          allowDeselect={!field.required && value !== undefined}
          onChange={(next) => onChange(field.options.find((option) => String(option.value) === next)?.value)}
        />
      );
    case 'rows':
      return <RowsInput {...props} field={field} />;
    case 'list':
      return <ListInput {...props} field={field} />;
    case 'group':
      return (
        <Fieldset legend={field.title} className={classes.fieldset} disabled={form.readOnly}>
          <ConfigFields
            form={{ ...form, onChange: (_, values) => onChange(values) }}
            fields={field.fields}
            values={asValues(value)}
            path={path}
          />
        </Fieldset>
      );
    case 'raw':
      return <RawInput common={common} value={value} onChange={onChange} />;
  }
}

const asValues = (value: unknown): Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Values) : {};

interface Common {
  label: string | undefined;
  'aria-label': string | undefined;
  description: string | undefined;
  error: string | null;
  disabled: boolean;
  required: boolean;
}

interface EntryProps {
  readonly value: unknown;
  readonly common: Common;
  readonly onChange: (value: unknown) => void;
}

interface NumberFieldInputProps extends Omit<NumberInputProps, 'value' | 'onChange'> {
  readonly field: NumberField;
  readonly value: Entry;
  readonly onChange: (value: number | undefined) => void;
}

/** A number of the schema. What is none stays in the field, with the reason, and changes nothing. */
function NumberFieldInput({ field, value, error, onChange, ...rest }: NumberFieldInputProps) {
  const [entry, setEntry] = useState<Entry>(value);
  useEffect(() => setEntry(value), [value]);
  const taken = typeof entry === 'number' || (entry === '' && !field.required);
  return (
    <NumberInput
      {...rest}
      min={field.min ?? undefined}
      max={field.max ?? undefined}
      clampBehavior="none"
      value={entry}
      error={taken ? error : fieldProblem(field, entry)}
      onChange={(next) => {
        setEntry(next);
        if (typeof next === 'number') onChange(next);
        else if (next === '' && !field.required) onChange(undefined);
      }}
    />
  );
}

function TextEntry({ field, value, common, onChange }: EntryProps & { readonly field: TextField }) {
  const placeholder = field.placeholder || (field.default === undefined ? '' : String(field.default));
  const shown = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  const take = (typed: string) => onChange(typed === '' && !field.required ? undefined : textValue(field, typed));
  if (field.examples.length > 2) {
    return (
      <Autocomplete
        {...common}
        size="xs"
        data={field.examples}
        filter={({ options }) => options}
        value={shown}
        placeholder={placeholder}
        onChange={take}
      />
    );
  }
  const Input = field.multiline ? Textarea : TextInput;
  return (
    <Input
      {...common}
      value={shown}
      placeholder={placeholder}
      onChange={(event: { currentTarget: { value: string } }) => take(event.currentTarget.value)}
    />
  );
}

function RawInput({ common, value, onChange }: EntryProps) {
  const shown = value === undefined ? '' : JSON.stringify(value, null, 2);
  const [text, setText] = useState(shown);
  const [bad, setBad] = useState(false);
  useEffect(() => setText(shown), [shown]);
  return (
    <JsonInput
      {...common}
      size="xs"
      autosize
      maxRows={10}
      value={text}
      error={bad ? 'must be JSON' : common.error}
      onChange={setText}
      onBlur={() => {
        try {
          const next: unknown = text.trim() === '' ? undefined : JSON.parse(text);
          setBad(false);
          if (JSON.stringify(next) !== JSON.stringify(value)) onChange(next);
        } catch {
          setBad(true);
        }
      }}
    />
  );
}

/** Rows fold to one line each; at most one is open, a new one at once. */
function RowsInput({ field, value, path, form, onChange }: FieldProps<RowsField>) {
  const rows = Array.isArray(value) ? value.map(asValues) : [];
  const set = (index: number, row: Values) => onChange(rows.map((each, at) => (at === index ? row : each)));
  const singular = field.itemTitle;
  const problem = form.problemAt(path);
  const [open, setOpen] = useState(-1);
  const badRow = (index: number) =>
    field.columns.some((column) => {
      const value = rows[index]?.[column.key];
      return (value !== undefined && fieldProblem(column, value)) || form.problemAt([...path, index, column.key]);
    });
  return (
    <Fieldset legend={field.title} className={classes.fieldset}>
      {field.description && <p className={classes.note}>{field.description}</p>}
      {rows.length === 0 && <p className={classes.note}>None.</p>}
      {rows.map((row, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity but their place
        <div key={index} className={classes.card}>
          <div className={classes.cardHead}>
            <button
              type="button"
              className={classes.cardTitle}
              data-problem={badRow(index) || undefined}
              aria-expanded={open === index}
              aria-label={`${singular} ${index + 1}: ${rowSummary(field.columns, row) || 'empty'}`}
              onClick={() => setOpen(open === index ? -1 : index)}
            >
              <IconChevronRight size={12} aria-hidden />
              <span className="muted">{index + 1}</span> {rowSummary(field.columns, row) || `empty ${singular}`}
            </button>
            {!form.readOnly && (
              <ActionIcon
                size={24}
                aria-label={`Remove ${singular} ${index + 1}`}
                disabled={rows.length <= field.minItems}
                onClick={() => {
                  setOpen(-1);
                  onChange(rows.filter((_, at) => at !== index));
                }}
              >
                <IconTrash size={13} aria-hidden />
              </ActionIcon>
            )}
          </div>
          {open === index && (
            <div className={classes.cardFields}>
              <ConfigFields
                form={{ ...form, onChange: (_, next) => set(index, next) }}
                fields={field.columns}
                values={row}
                path={[...path, index]}
                context={`${singular} ${index + 1}`}
                compact
              />
            </div>
          )}
        </div>
      ))}
      {problem && <p className={classes.error}>{problem}</p>}
      {!form.readOnly && rows.length < field.maxItems && (
        <Button
          variant="subtle"
          size="compact-xs"
          leftSection={<IconPlus size={12} aria-hidden />}
          onClick={() => {
            setOpen(rows.length);
            onChange([...rows, newRow(field.columns)]);
          }}
        >
          Add {singular}
        </Button>
      )}
    </Fieldset>
  );
}

function ListInput({ field, value, path, form, onChange }: FieldProps<ListField>) {
  const items = Array.isArray(value) ? value : [];
  const singular = field.itemTitle;
  const item: TextField | NumberField | ListField['item'] = field.item;
  return (
    <Fieldset legend={field.title} className={classes.fieldset}>
      {field.description && <p className={classes.note}>{field.description}</p>}
      {items.map((each, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: items have no identity but their place
        <div key={index} className={classes.listItem}>
          <FieldInput
            field={item}
            value={each}
            path={[...path, index]}
            label={`${singular} ${index + 1}`}
            hideLabel
            form={form}
            onChange={(next) => onChange(items.map((old, at) => (at === index ? (next ?? '') : old)))}
          />
          {!form.readOnly && (
            <ActionIcon
              aria-label={`Remove ${singular} ${index + 1}`}
              disabled={items.length <= field.minItems}
              onClick={() => onChange(items.filter((_, at) => at !== index))}
            >
              <IconTrash size={13} aria-hidden />
            </ActionIcon>
          )}
        </div>
      ))}
      {!form.readOnly && items.length < field.maxItems && (
        <Button
          variant="subtle"
          size="compact-xs"
          leftSection={<IconPlus size={12} aria-hidden />}
          onClick={() => onChange([...items, initialValue(item)])}
        >
          Add {singular}
        </Button>
      )}
    </Fieldset>
  );
}
