// What each command takes, and its help text.

export interface Usage {
  /** What the command is about, as its usage names it. */
  readonly subject?: string
  /** Its options, beside those of every command. */
  readonly options: readonly string[]
  readonly summary: string
  readonly help: string
}

const OPERATION = '<op_...>'

export const usages = {
  unknown: {
    options: ['tenant'],
    summary: 'list the operations with an unknown outcome',
    help: `Usage: npm run atomic -- unknown [--tenant tnt_...]

Lists the operations whose provider call may have been executed: since when, when the service looks
next, and what a resume would do now. At most 1,000, the newest first.
`,
  },
  explain: {
    subject: '<op_... | pay_... | idempotency key>',
    options: [],
    summary: 'show the life of a payment, and what happens next',
    help: `Usage: npm run atomic -- explain <op_... | pay_... | idempotency key>

Shows the life of the payment: its idempotency keys and how often they were used again, what happens
next and what an operator can do, then all that happened, in order: requests, waits, each attempt with
its lease epoch and what the provider was asked and answered, recovery points, takeovers, events,
webhooks and ledger entries. At most 20 payments with a key, the newest. It says what has more.
`,
  },
  resume: {
    subject: OPERATION,
    options: [],
    summary: 'resume an operation that has stopped',
    help: `Usage: npm run atomic -- resume <op_...>

Looks up, retries or reopens the operation. explain says which. A charge that may have been made is
never made a second time.
`,
  },
  resolve: {
    subject: OPERATION,
    options: ['provider-id', 'did-not-happen', 'note', 'unverified'],
    summary: 'state what happened to an unknown outcome',
    help: `Usage: npm run atomic -- resolve <op_...> --provider-id pi_... [--note text]
       npm run atomic -- resolve <op_...> --did-not-happen <proof> [--unverified]

A worker looks at the provider, and the command prints its verdict. With --unverified, and with dual
control, the first request is a proposal: it prints what follows from it, as explain does, and a
second operator has to run the same command.

  --provider-id id          it happened: the id of the payment intent or the refund
  --note text               how you know that it happened
  --did-not-happen proof    what proves that it did not happen
  --unverified              act on it even if the lookup is not answered
`,
  },
  replay: {
    subject: '<we_...>',
    options: ['since'],
    summary: 'send the failed webhooks of an endpoint again',
    help: `Usage: npm run atomic -- replay <we_...> --since 2026-01-31T12:00:00Z

Sends the events again whose delivery has failed since then, up to 500 at once.
`,
  },
  tail: {
    options: ['tenant'],
    summary: 'print payments as they begin, change and end, until Ctrl-C',
    help: `Usage: npm run atomic -- tail [--tenant tnt_...]

Looks once a second at the operations that are not completed, the newest 1,000, and at new payments. It
prints each one, each change, and each end; of a payment that begins and ends between two looks only
the end. A refund or a capture that begins and ends between two looks is not shown. It survives a
restart of the API, and says once that it is away. With --json it prints one object a line.
`,
  },
} as const satisfies Record<string, Usage>

export type CommandName = keyof typeof usages

export function isCommand(text: string): text is CommandName {
  return Object.hasOwn(usages, text)
}

const GENERAL = `
  --url url          the service; default ATOMIC_URL, or the npm start with DATA_DIR
  --key-file file    the file with the operator's key
  --json             print JSON; run npm with -s, whose own lines are not JSON
  --help

The operator's key comes from --key-file, from ATOMIC_ADMIN_KEY, or, with a service of this machine,
from DATA_DIR, where npm start stores the key that it generates. It is never an argument: every user
of the machine can read the arguments of a process.

Exit codes: 0 done, 1 the service refused or is not reachable, 2 wrong usage.
`

export const HELP = `Usage: npm run atomic -- <command> [options]

${Object.entries(usages)
  .map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`)
  .join('\n')}

  <command> --help   the usage of a command
${GENERAL}`

export function helpOf(command: CommandName): string {
  return `${usages[command].help}${GENERAL}`
}
