import { Button, Group, Modal, TextInput } from '@mantine/core';
import type { ChainDefinition } from '@orrery/contract';
import { type FormEvent, useState } from 'react';
import { useNavigate } from 'react-router';
import { asName, freshName } from '../../editor-model/identifiers.js';
import { fromFreeHost, instantiate, TEMPLATES } from '../../editor-model/templates.js';
import { chainPath } from '../../shared/api/chains.js';
import { useInfrastructure } from '../../shared/api/queries.js';
import { useChainActions } from '../../shared/chain/use-chain-actions.js';
import { useFocusReturn } from '../../shared/ui/focus-return.js';
import { ChainThumbnail } from './chain-thumbnail.js';
import classes from './new-chain.module.css';

const CLOSE = { 'aria-label': 'Close' };

interface NewChainProps {
  readonly others: readonly ChainDefinition[];
  readonly onClose: () => void;
}

/** Lets the user choose a template and a title, stores the draft and opens it. */
export default function NewChain({ others, onClose }: NewChainProps) {
  const [chosen, setChosen] = useState(TEMPLATES[0]!);
  const [title, setTitle] = useState(TEMPLATES[0]!.definition.title);
  const { data: network } = useInfrastructure();
  const made = title.trim() || chosen.title;
  const names = new Set(others.map(({ name }) => name));
  const [busy, setBusy] = useState(false);
  const actions = useChainActions();
  useFocusReturn();
  const navigate = useNavigate();

  const create = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    const definition = instantiate(chosen.definition, made, names);
    const chain = await actions.create(fromFreeHost(definition, network?.hosts ?? [], others));
    setBusy(false);
    if (!chain) return;
    onClose();
    void navigate(chainPath(chain.id));
  };
  return (
    <Modal opened onClose={onClose} title="New chain" size="lg" centered closeButtonProps={CLOSE}>
      <form className={classes.form} onSubmit={(event) => void create(event)}>
        <div className={classes.templates} role="radiogroup" aria-label="Template">
          {TEMPLATES.map((template) => (
            <label key={template.id} className={classes.template} data-chosen={template === chosen || undefined}>
              <input
                type="radio"
                name="template"
                className="sr-only"
                checked={template === chosen}
                onChange={() => {
                  if (title === chosen.definition.title) setTitle(template.definition.title);
                  setChosen(template);
                }}
              />
              <ChainThumbnail definition={template.definition} />
              <span className={classes.title}>{template.title}</span>
              <span className={classes.summary}>{template.summary}</span>
            </label>
          ))}
        </div>
        <TextInput
          label="Title"
          data-autofocus
          value={title}
          maxLength={80}
          placeholder={chosen.title}
          description={`Name: ${freshName(asName(made), names)}`}
          inputWrapperOrder={['label', 'input', 'description']}
          onChange={(event) => setTitle(event.currentTarget.value)}
        />
        <Group justify="flex-end" gap="xs" mt="md">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={busy}>
            Create
          </Button>
        </Group>
      </form>
    </Modal>
  );
}
