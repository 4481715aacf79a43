// Renders docs/configuration.md from the comments of .env.example, of the project and of each extra, and the schema of the settings.
// The page therefore agrees with the code.
import { z } from 'zod'
import { renderDatabaseUrlSection } from './database-url-section.ts'

const INTRODUCTION = `# Configuration

Every setting is an environment variable. The npm scripts also read \`.env\`; variables of the
environment take precedence over it. An empty value counts as unset. A process with an invalid
value exits at its start and names the variable, but not the value. \`npm run docs\`
generates this page from [.env.example](../.env.example), those of the [extras](../extras/README.md), and
\`src/config.ts\`. What no operator
has to choose, such as the length of a lease, is in [src/constants.ts](../src/constants.ts), each value
with its reason.
`

/** The schema of the settings, and their values when no variable is set. */
export interface Settings {
  readonly shape: Readonly<Record<string, z.ZodType>>
  readonly defaults: Readonly<Record<string, unknown>>
}

interface Setting {
  readonly name: string
  /** The default, as in .env.example. */
  readonly value: string
  readonly meaning: string
}

/** Renders the page from the text of .env.example. */
export function renderConfigurationPage(example: string, settings: Settings): string {
  const [, ...sections] = example.split(/^# --- /m)
  return [
    INTRODUCTION,
    ...sections.map((section) => renderSection(section, settings)),
    renderDatabaseUrlSection(),
  ].join('\n')
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

/** Renders the values of a setting: its words, or its range with the unit from its name. */
function showValues(name: string, { shape, defaults }: Settings): string {
  const schema = z.toJSONSchema(shape[name] ?? z.never(), UNREPRESENTED)
  if (schema.enum !== undefined) return schema.enum.map((word) => `\`${String(word)}\``).join(', ')
  if (typeof defaults[name] === 'boolean') return '`true`, `false`'
  if (Array.isArray(defaults[name])) return 'comma-separated'
  if (schema.minimum !== undefined) return showRange(name, schema.minimum, schema.maximum)
  return schema.format === 'uri' ? 'URL' : 'text'
}

/** The upper bound that zod reports for an integer without one. */
const UNBOUNDED = Number.MAX_SAFE_INTEGER

/** A schema that JSON Schema cannot express counts as any value. */
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
