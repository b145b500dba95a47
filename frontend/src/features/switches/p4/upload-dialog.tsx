import { Button, FileInput, TextInput } from '@mantine/core';
import { P4_JSON_MOST_BYTES, P4INFO_MOST_BYTES } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../../shared/api/client.js';
import { FormDialog } from '../../../shared/ui/form-dialog.js';
import { FormTrouble, fieldErrorOf } from '../../../shared/ui/form-trouble.js';
import { notifyDone } from '../../../shared/ui/notify.js';
import classes from './p4.module.css';

const POINTERS = ['/name', '/title', '/bmv2_json', '/p4info'];

const MIB = 1024 * 1024;

/** What is wrong with a file that is not sent; undefined: nothing. */
function tooLarge(file: File | null, most: number): string | undefined {
  if (!file || file.size <= most) return undefined;
  return `${file.name} has ${(file.size / MIB).toFixed(1)} MB: at most ${most / MIB} MB are taken`;
}

/** Uploads what p4c has compiled; each error is shown at its field. */
export function UploadDialog({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('');
  const [title, setTitle] = useState('');
  const [json, setJson] = useState<File | null>(null);
  const [p4info, setP4Info] = useState<File | null>(null);
  const queries = useQueryClient();
  const upload = useMutation({
    mutationFn: async () => {
      const [bmv2_json = '', info = ''] = await Promise.all([json?.text(), p4info?.text()]);
      const body = { name, title: title || name, bmv2_json, p4info: info };
      return call('createP4Program', { body });
    },
    onSuccess: async (program) => {
      await queries.invalidateQueries({ queryKey: ['p4-programs'] });
      notifyDone(`${program.title} is stored: choose it for a P4 switch on Topology`);
      onClose();
    },
  });
  const { error } = upload;
  const jsonTooLarge = tooLarge(json, P4_JSON_MOST_BYTES);
  const p4infoTooLarge = tooLarge(p4info, P4INFO_MOST_BYTES);
  const isReady = json && p4info && name !== '' && !jsonTooLarge && !p4infoTooLarge;
  const chooseJson = (file: File | null) => {
    setJson(file);
    const stem =
      file?.name
        .replace(/\.json$/, '')
        .toLowerCase()
        .replace(/[^a-z0-9-]+/g, '-') ?? '';
    if (name === '' && /^[a-z]/.test(stem)) setName(stem.slice(0, 40));
  };
  return (
    <FormDialog
      title="Upload a P4 program"
      size={520}
      trouble={<FormTrouble error={error} shown={POINTERS} />}
      action={
        <Button type="submit" loading={upload.isPending} disabled={!isReady}>
          Upload
        </Button>
      }
      onSubmit={() => isReady && upload.mutate()}
      onClose={onClose}
    >
      <div className={classes.form}>
        <FileInput
          label="JSON of p4c for BMv2"
          description="p4c-bm2-ss --std p4-16 -o NAME.json, of a program for v1model; at most 4 MB"
          accept=".json,application/json"
          value={json}
          onChange={chooseJson}
          error={jsonTooLarge ?? fieldErrorOf(error, '/bmv2_json')}
          required
        />
        <FileInput
          label="P4Info"
          description="--p4runtime-files NAME.p4info.txtpb (or .json); at most 1 MB"
          accept=".txtpb,.txt,.json,.p4info"
          value={p4info}
          onChange={setP4Info}
          error={p4infoTooLarge ?? fieldErrorOf(error, '/p4info')}
          required
        />
        <TextInput
          label="Name"
          description="a-z, 0-9 and -"
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
          error={fieldErrorOf(error, '/name')}
          required
        />
        <TextInput
          label="Title"
          value={title}
          onChange={({ currentTarget }) => setTitle(currentTarget.value)}
          error={fieldErrorOf(error, '/title')}
        />
      </div>
    </FormDialog>
  );
}
