import { ActionIcon, Autocomplete, Button, Select } from '@mantine/core';
import type { Filter, FilterTerm } from '@orrery/contract';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { type Attribute, firstTerm, parseValue, startValue, valueProblem } from '../../../editor-model/attributes.js';
import { useRejectedEntry } from '../../../shared/form/rejected-entries.js';
import classes from './inspector.module.css';

interface FilterRowsProps {
  readonly filter: Filter;
  readonly attributes: readonly Attribute[];
  readonly onChange: (filter: Filter, row: number) => void;
  /** The validator's error for a row, or null. */
  readonly problemOf: (row: number) => string | null;
  readonly readOnly: boolean;
  /** What an empty filter means. */
  readonly empty: string;
}

/** A filter as rows of attribute, operator and value; all rows must match. */
export function FilterRows({ filter, attributes, onChange, problemOf, readOnly, empty }: FilterRowsProps) {
  const set = (row: number, term: FilterTerm) =>
    onChange(
      filter.map((each, index) => (index === row ? term : each)),
      row,
    );
  return (
    <div className={classes.rows}>
      {filter.length === 0 && <p className={classes.note}>{empty}</p>}
      {filter.map((term, row) => (
        <FilterRow
          // biome-ignore lint/suspicious/noArrayIndexKey: terms have no identity but their place
          key={row}
          row={row}
          term={term}
          attributes={attributes}
          problem={problemOf(row)}
          readOnly={readOnly}
          onChange={(next) => set(row, next)}
          onRemove={() =>
            onChange(
              filter.filter((_, index) => index !== row),
              row,
            )
          }
        />
      ))}
      {!readOnly && filter.length < 16 && (
        <Button
          variant="subtle"
          size="compact-xs"
          leftSection={<IconPlus size={12} aria-hidden />}
          onClick={() => onChange([...filter, firstTerm(attributes)], filter.length)}
        >
          Add a condition
        </Button>
      )}
    </div>
  );
}

interface FilterRowProps {
  readonly row: number;
  readonly term: FilterTerm;
  readonly attributes: readonly Attribute[];
  readonly problem: string | null;
  readonly readOnly: boolean;
  readonly onChange: (term: FilterTerm) => void;
  readonly onRemove: () => void;
}

function FilterRow({ row, term, attributes, problem, readOnly, onChange, onRemove }: FilterRowProps) {
  const attribute = attributes.find((each) => each.name === term.attribute);
  const groups = [
    { group: 'Derived by upstream NFs', items: attributes.filter((each) => each.origin === 'derived') },
    { group: 'Packet', items: attributes.filter((each) => each.origin === 'packet') },
  ].filter((each) => each.items.length > 0);
  const options = groups.map(({ group, items }) => ({
    group,
    items: items.map((each) => ({ value: each.name, label: each.title })),
  }));
  if (!attribute) options.push({ group: 'Not known here', items: [{ value: term.attribute, label: term.attribute }] });
  return (
    <div className={classes.filterRow}>
      <Select
        aria-label={`Condition ${row + 1}, attribute`}
        data={options}
        value={term.attribute}
        disabled={readOnly}
        searchable
        onChange={(name) => {
          const next = attributes.find((each) => each.name === name);
          if (next && name !== term.attribute) onChange({ ...term, attribute: next.name, value: startValue(next) });
        }}
      />
      <div className={classes.filterSecond}>
        <Select
          aria-label={`Condition ${row + 1}, operator`}
          data={[
            { value: 'is', label: 'is' },
            { value: 'is-not', label: 'is not' },
          ]}
          value={term.op}
          disabled={readOnly}
          onChange={(op) => op && onChange({ ...term, op: op as FilterTerm['op'] })}
        />
        <ValueInput
          row={row}
          term={term}
          attribute={attribute}
          problem={problem}
          readOnly={readOnly}
          onChange={onChange}
        />
        {!readOnly && (
          <ActionIcon aria-label={`Remove condition ${row + 1}`} onClick={onRemove}>
            <IconX size={14} aria-hidden />
          </ActionIcon>
        )}
      </div>
    </div>
  );
}

function ValueInput({
  row,
  term,
  attribute,
  problem,
  readOnly,
  onChange,
}: Omit<FilterRowProps, 'attributes' | 'onRemove'> & { readonly attribute: Attribute | undefined }) {
  const label = `Condition ${row + 1}, value`;
  const [text, setText] = useState(String(term.value));
  useEffect(() => setText((now) => (parseValue(now) === term.value ? now : String(term.value))), [term]);
  const chosen = attribute?.kind === 'choice';
  const empty = chosen || text.trim() !== '' ? null : 'must be given';
  useRejectedEntry(label, empty);
  if (chosen) {
    const options = attribute.values.map(({ value, title }) => ({ value, label: title }));
    if (!options.some((each) => each.value === String(term.value))) {
      options.push({ value: String(term.value), label: String(term.value) });
    }
    return (
      <Select
        aria-label={label}
        data={options}
        value={String(term.value)}
        disabled={readOnly}
        error={problem}
        onChange={(value) => value && onChange({ ...term, value })}
      />
    );
  }
  const typed = empty ?? (attribute ? valueProblem(attribute, text) : null);
  return (
    <Autocomplete
      aria-label={label}
      size="xs"
      data={attribute?.values.map((each) => each.value) ?? []}
      filter={({ options }) => options}
      placeholder={attribute?.placeholder}
      value={text}
      disabled={readOnly}
      error={typed ?? problem}
      onChange={(value) => {
        setText(value);
        if (value.trim() !== '') onChange({ ...term, value: parseValue(value) });
      }}
      onBlur={() => text.trim() !== '' && setText(String(term.value))}
    />
  );
}
