import { Button, Group } from '@mantine/core';
import type { CataloguedNf, NfDescriptor } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { atTheirLines, descriptorFromYaml, descriptorToYaml } from '../../editor-model/descriptor-yaml.js';
import type { TextProblem } from '../../editor-model/yaml-text.js';
import { ApiError, call } from '../../shared/api/client.js';
import { FormDialog } from '../../shared/ui/form-dialog.js';
import { FormTrouble } from '../../shared/ui/form-trouble.js';
import { YamlInput } from '../../shared/yaml/yaml-input.js';
import classes from './catalogue.module.css';
import { NEW_IMAGE_NF, NEW_NF } from './new-nf.js';

interface DescriptorDialogProps {
  /** Null: a new one is described. */
  readonly edited: CataloguedNf | null;
  readonly onClose: () => void;
  readonly onSaved: (id: string) => void;
}

/** Describes a legacy NF, or changes its description. */
export default function DescriptorDialog({ edited, onClose, onSaved }: DescriptorDialogProps) {
  const queries = useQueryClient();
  const [text, setText] = useState(() => (edited ? textOf(edited) : NEW_NF));
  /** Of the text that was sent last; a change of the text takes them away. */
  const [problems, setProblems] = useState<readonly TextProblem[]>([]);
  const save = useMutation({
    mutationFn: (descriptor: NfDescriptor) => send(descriptor, edited),
    onSuccess: ({ id }) => onSaved(id),
    onError: (error) => setProblems(error instanceof ApiError ? atTheirLines(text, error.errors) : []),
    onSettled: () => queries.invalidateQueries({ queryKey: ['nf-descriptors'] }),
  });
  const isTemplate = text === NEW_NF || text === NEW_IMAGE_NF;
  const submit = () => {
    const result = descriptorFromYaml(text);
    save.reset();
    if (result.ok) save.mutate(result.descriptor);
    else setProblems(result.problems);
  };
  return (
    <FormDialog
      title={edited ? `Edit ${edited.title}` : 'New NF'}
      size={820}
      trouble={<FormTrouble error={save.error} shown={problems.map(({ pointer }) => pointer)} />}
      action={
        <Button type="submit" loading={save.isPending}>
          {edited ? 'Save' : 'Add to the catalogue'}
        </Button>
      }
      onSubmit={submit}
      onClose={onClose}
    >
      <p className={classes.lead}>
        A program runs as root in a network namespace, an image in a container without rights but those that you name,
        on servers whose operators allow it; see Capabilities.
      </p>
      {!edited && isTemplate && (
        <Group gap="xs">
          Begin with
          <Button variant="default" size="xs" disabled={text === NEW_NF} onClick={() => setText(NEW_NF)}>
            a program
          </Button>
          <Button variant="default" size="xs" disabled={text === NEW_IMAGE_NF} onClick={() => setText(NEW_IMAGE_NF)}>
            a container image
          </Button>
        </Group>
      )}
      <YamlInput
        label="Descriptor (YAML)"
        text={text}
        problems={problems}
        onTyped={(now) => {
          setText(now);
          setProblems([]);
          save.reset();
        }}
      />
      {problems.length > 0 && (
        <div role="alert">
          <ul className={classes.problems} aria-label="Problems">
            {problems.map(({ line, message }) => (
              <li key={`${line} ${message}`}>
                line {line}: {message}
              </li>
            ))}
          </ul>
        </div>
      )}
    </FormDialog>
  );
}

/** With the profiles that it declares, not those that were learnt. */
function textOf({ written: _, learnt = [], ...descriptor }: CataloguedNf): string {
  const implementations = descriptor.implementations.map((it) => {
    const declared = learnt.find(({ driver }) => driver === it.driver)?.declared;
    return declared ? { ...it, cost: declared } : it;
  });
  return descriptorToYaml({ ...descriptor, implementations });
}

function send(descriptor: NfDescriptor, edited: CataloguedNf | null): Promise<CataloguedNf> {
  return edited
    ? call(
        'putNfDescriptor',
        { params: { id: edited.id }, body: descriptor },
        { ifMatch: `"${edited.written?.revision}"` },
      )
    : call('createNfDescriptor', { body: descriptor }, { idempotencyKey: crypto.randomUUID() });
}
