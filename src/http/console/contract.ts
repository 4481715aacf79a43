// Contracts of the endpoints of the console: its page and files, and the session of its operator.
import { z } from 'zod'
import { unchanged, type Contracts } from '../contracts/contract.ts'
import { sessionSchema } from './schema.ts'
import { logInBody } from './sessions.ts'

const sessionContracts: Contracts = {
  'POST /console/session': {
    operationId: 'logIn',
    tag: 'Console',
    summary: 'Log in',
    description:
      'Exchanges an operator key for the cookie of a session. The cookie authenticates requests to `/admin`, too. The session ends when it is idle for too long, after twelve hours, and when the key is removed from the settings.',
    body: {
      schema: logInBody.meta({ id: 'LogIn' }),
      example: { key: 'adm_...' },
    },
    answers: {
      200: { description: 'The session.', schema: sessionSchema, headers: ['Set-Cookie'] },
    },
    problems: ['operator-key-invalid', 'too-many-invalid-keys', 'store-unavailable'],
  },
  'GET /console/session': {
    operationId: 'getSession',
    tag: 'Console',
    summary: 'Retrieve the session',
    answers: { 200: { description: 'The session.', schema: sessionSchema } },
  },
  'DELETE /console/session': {
    operationId: 'logOut',
    tag: 'Console',
    summary: 'Log out',
    description: 'Ends the session, in every process.',
    answers: { 204: { description: 'The session has ended.', headers: ['Set-Cookie'] } },
  },
}

const liveContracts: Contracts = {
  'GET /console/live': {
    operationId: 'watchLive',
    tag: 'Console',
    summary: 'Watch what happens',
    description:
      'Sends server-sent events until the client disconnects or the session ends. `unfinished` has all operations that wait or run, and all unknown ones, when they have changed. `changed` has the ids of operations that have become idle, so that lists which show them are stale. `end` is the last event: its `reason` is `session` or `shutdown`.',
    answers: {
      200: {
        description: 'The stream of events.',
        texts: ['text/event-stream'],
        headers: ['X-Accel-Buffering'],
      },
    },
  },
}

const fileInPath = (example: string) =>
  z.object({ file: z.string().meta({ description: 'The name of the file.', examples: [example] }) })

const pageContracts: Contracts = {
  'GET /console': {
    operationId: 'getConsole',
    tag: 'Console',
    summary: 'Open the console',
    description: 'Returns the HTML page of the console.',
    answers: { 200: { description: 'The page.', texts: ['text/html'] } },
  },
  'GET /console/app/:file': {
    operationId: 'getConsoleFile',
    tag: 'Console',
    summary: 'Retrieve a file of the console',
    path: fileInPath('main.js'),
    answers: {
      200: {
        description: 'The file.',
        texts: ['text/css', 'text/javascript', 'image/svg+xml'],
        headers: ['ETag'],
      },
      304: unchanged,
    },
  },
  'GET /console/packages/:file': {
    operationId: 'getConsolePackage',
    tag: 'Console',
    summary: 'Retrieve a package of the console',
    path: fileInPath('preact.js'),
    answers: {
      200: {
        description: 'The file.',
        texts: ['text/css', 'text/javascript'],
        headers: ['ETag'],
      },
      304: unchanged,
    },
  },
}

export const consoleContracts: Contracts = {
  ...sessionContracts,
  ...liveContracts,
  ...pageContracts,
}
