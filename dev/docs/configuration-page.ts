// Makes docs/configuration.md of what .env.example says of each variable and of what the settings take, so
// that the page can tell nothing else than the code.
import { z } from 'zod'

const INTRODUCTION = `# Configuration

Every setting is an environment variable, read by every process from \`.env\` as well; variables that are set already win, and an empty
value counts as unset. A wrong value stops the process at its start, with the variable's name and without its value. This page is made of
[.env.example](../.env.example) and \`src/config.ts\` by \`npm run configuration\`; a test refuses one that is stale.
`

/** What the settings take, and what they are when nothing is set. */
export interface Settings {
  readonly shape: Readonly<Record<string, z.ZodType>>
  readonly defaults: Readonly<Record<string, unknown>>
}

interface Setting {
  readonly name: string
  /** As .env.example has it. */
  readonly value: string
  readonly meaning: string
}

/** The page, of the text of .env.example. */
export function renderConfigurationPage(example: string, settings: Settings): string {
  const [, ...sections] = example.split(/^# --- /m)
  return [INTRODUCTION, ...sections.map((section) => renderSection(section, settings))].join('\n')
}

function renderSection(section: string, settings: Settings): string {
  const [title = '', ...paragraphs] = section.trim().split('\n\n')
  const rows = paragraphs
    .map(readSetting)
    .map(
      ({ name, value, meaning }) =>
        `| \`${name}\` | ${showDefault(value)} | ${showValues(name, settings)} | ${meaning} |`,
    )
  return [
    `## ${title}\n`,
    '| variable | default | values | meaning |',
    '|---|---|---|---|',
    ...rows,
  ]
    .join('\n')
    .concat('\n')
}

function readSetting(paragraph: string): Setting {
  const {
    comment = '',
    name = '',
    value = '',
  } = /^(?<comment>(?:# .*\n)+)(?<name>\w+)=(?<value>.*)$/.exec(paragraph)?.groups ?? {}
  const meaning = comment.replaceAll(/^# /gm, '').trim().replaceAll('\n', ' ')
  return { name, value, meaning: meaning.replaceAll('|', '\\|') }
}

const showDefault = (value: string) => (value === '' ? 'none' : `\`${value}\``)

/** What a setting may be: words, or a range with its unit, which the name ends with. */
function showValues(name: string, { shape, defaults }: Settings): string {
  const schema = z.toJSONSchema(shape[name] ?? z.never(), UNREPRESENTED)
  if (schema.enum !== undefined) return schema.enum.map((word) => `\`${String(word)}\``).join(', ')
  if (typeof defaults[name] === 'boolean') return '`true`, `false`'
  if (Array.isArray(defaults[name])) return `ascending, in ${unitOf(name)}, with commas between`
  if (schema.minimum !== undefined) return showRange(name, schema.minimum, schema.maximum)
  return schema.format === 'uri' ? 'a URL' : 'a text'
}

/** What zod takes an integer without a bound to be below. */
const UNBOUNDED = Number.MAX_SAFE_INTEGER

/** What JSON Schema has no words for is any value. */
const UNREPRESENTED = { unrepresentable: 'any' } as const

function showRange(name: string, minimum: number, maximum = UNBOUNDED): string {
  const [least, most] = [minimum, maximum].map((bound) => bound.toLocaleString('en-US'))
  if (maximum === UNBOUNDED) return `${least} ${unitOf(name)} or more`
  return `${least} to ${most} ${unitOf(name)}`.trim()
}

function unitOf(name: string): string {
  if (name.endsWith('_MS')) return 'ms'
  return name.endsWith('_SECONDS') ? 's' : ''
}
