import { createServer as createHttp } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { failureWords, statusWords } from './failure-words.js';
import { testMessage } from './message.js';
import { post } from './post.js';

let server: Server | null = null;
afterEach(async () => {
  if (server) await new Promise((resolve) => server!.close(resolve));
  server = null;
});

/** Listens, and does this with each connection; returns the port. */
async function listening(made: Server): Promise<number> {
  server = made;
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  return (made.address() as AddressInfo).port;
}

const withSocket = (work: (socket: Socket) => void) =>
  listening(createServer((socket) => socket.once('data', () => work(socket))));
const errorOf = async (url: string) =>
  (await post({ url, secret: 'whsec_AAAA' }, testMessage('wh-1', 0), null, '1')).error;

describe('why a webhook does not get through is said in words', () => {
  it('where nothing listens, or what listens closes the connection', async () => {
    const port = await withSocket((socket) => socket.destroy());
    expect(await errorOf(`http://127.0.0.1:${port}/`)).toBe(
      `127.0.0.1:${port} closed the connection before it answered`,
    );
    await new Promise((resolve) => server!.close(resolve));
    server = null;
    expect(await errorOf(`http://127.0.0.1:${port}/`)).toBe(
      `nothing listens at 127.0.0.1:${port}: the connection was refused`,
    );
  });

  it('where another protocol is spoken than is asked for', async () => {
    const port = await withSocket((socket) => socket.end('220 mail.example.org ESMTP\r\n'));
    expect(await errorOf(`http://127.0.0.1:${port}/`)).toBe(`127.0.0.1:${port} does not answer by HTTP`);
    expect(await errorOf(`https://127.0.0.1:${port}/`)).toMatch(`127.0.0.1:${port} does not answer by TLS: `);
    expect(await errorOf('http://127.0.0.1:25/')).toBe('nothing is sent to port 25, which belongs to another protocol');
  });

  it('where the receiver leads elsewhere, which is not followed', async () => {
    const port = await listening(
      createHttp((_, response) => response.writeHead(308, { location: 'https://other.example/' }).end()),
    );
    expect(await errorOf(`http://127.0.0.1:${port}/`)).toBe(
      'the receiver answered 308 Permanent Redirect, and no redirect is followed: it leads to https://other.example/',
    );
    expect(statusWords(404, null)).toBe('the receiver answered 404 Not Found');
    expect(statusWords(799, null)).toBe('the receiver answered 799');
  });

  it.each([
    ['ENOTFOUND', 'the name hooks.example.org is not found'],
    ['EAI_AGAIN', 'the name hooks.example.org cannot be looked up now: no name server answers'],
    ['UND_ERR_CONNECT_TIMEOUT', 'no connection to hooks.example.org:443 in time'],
    ['EHOSTUNREACH', 'no way leads to hooks.example.org'],
    [
      'ERR_TLS_CERT_ALTNAME_INVALID',
      'the TLS certificate of hooks.example.org is not accepted: it is for another name',
    ],
    ['CERT_HAS_EXPIRED', 'the TLS certificate of hooks.example.org is not accepted: it has expired'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'the TLS certificate of hooks.example.org is not accepted: it is signed by itself'],
    ['CERT_REVOKED', 'the TLS certificate of hooks.example.org is not accepted: certificate revoked'],
    ['EWHATEVER', 'hooks.example.org:443 was not reached: certificate revoked'],
  ])('%s: %s', (code, words) => {
    const cause = Object.assign(new Error('certificate revoked'), { code });
    expect(failureWords(new TypeError('fetch failed', { cause }), 'https://hooks.example.org/a')).toBe(words);
    const ofEach = new TypeError('fetch failed', { cause: new AggregateError([cause, new Error('other')]) });
    expect(failureWords(ofEach, 'https://hooks.example.org/a')).toBe(words);
  });
});
