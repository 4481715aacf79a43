// Reads and checks every setting of every process. No other file reads the environment. A wrong
// value stops the process at start, with a message that names the variable.
import { z } from 'zod'
import {
  allOrSome,
  countOperators,
  encryptionKeys,
  httpUrl,
  nameServers,
  operatorKeys,
  trustedProxies,
  ConfigError,
} from './config-formats.ts'
import { answerSettings } from './answers/open-answers.ts'
import { CONSTANTS, readConstants, type Constants } from './constants.ts'
import { KEY_LENGTH_MIN_MAX, LIMIT_MAX, STORED_KEYS_MAX } from './domain/tenants/tenant.ts'
import { providerNames, providerSettings, requireAllKeys } from './provider/adapters.ts'
import { coversKeys, needsCover, retentionSettings } from './retention-settings.ts'

const port = z.coerce.number().int().min(0).max(65_535)
const milliseconds = z.coerce.number().int().min(1).max(3_600_000)
const count = z.coerce.number().int().min(1).max(1_000)

/** 0 means no limit, where it is allowed. */
const limit = z.coerce.number().int().min(0).max(LIMIT_MAX)

const DAY_SECONDS = 24 * 60 * 60
const WEEK_SECONDS = 7 * DAY_SECONDS
const MONTH_SECONDS = 30 * DAY_SECONDS

/** Roles belong to a cluster: two databases with two owners need two names. */
export const SERVICE_ROLE = 'atomic_payments_service'

/** The groups of queues that a worker works on: `workers/jobs.ts` has the queues of each. */
export const queueGroups = ['payments', 'webhooks', 'maintenance'] as const
export type QueueGroup = (typeof queueGroups)[number]

/** OpenTelemetry's own. Its SDK reads these and all others by itself. */
const otelVariables = {
  OTEL_SDK_DISABLED: z.string().optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl.optional(),
  OTEL_TRACES_EXPORTER: z.string().optional(),
  OTEL_SERVICE_NAME: z.string().optional(),
  OTEL_RESOURCE_ATTRIBUTES: z.string().optional(),
}

const environmentSchema = z
  .object({
    HOST: z.string().default('127.0.0.1'),
    PORT: port.default(3000),
    METRICS_HOST: z.string().default('127.0.0.1'),
    METRICS_PORT: port.optional(),
    MOCK_PROVIDER_PORT: port.default(3100),
    DATA_DIR: z.string().default('.data'),
    LOG_LEVEL: z
      .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
      .default('info'),

    DATABASE_URL: z
      .string()
      .regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL')
      .optional(),
    DATABASE_SERVICE_ROLE: z
      .string()
      .regex(/^[a-z_][a-z0-9_]{0,62}$/, 'must be a name of lower-case letters, digits and _')
      .default(SERVICE_ROLE),
    DATABASE_MAY_LOSE_COMMITS: z.stringbool().default(false),
    // Each pipelines statements. On two cores, four cost PostgreSQL a tenth less time than ten.
    DATABASE_POOL_SIZE: count.default(4),
    ENCRYPTION_KEYS: encryptionKeys.optional(),
    STORE_TIMEOUT_MS: milliseconds.default(5_000),

    PROVIDER: z.enum(providerNames).default('stripe'),
    ...providerSettings,
    MOCK_WEBHOOK_URL: httpUrl.optional(),
    PROVIDER_TIMEOUT_MS: milliseconds.default(8_000),
    PAYMENT_RETURN_URL: httpUrl.optional(),
    PROVIDER_READS_PER_SECOND: limit.default(10),
    DEMO_API_KEY: z
      .string()
      .regex(/^sk_[A-Za-z0-9_]{9,200}$/, 'must be sk_ followed by 9 to 200 letters, digits or _')
      .optional(),
    ADMIN_API_KEY: operatorKeys.optional(),
    ADMIN_DUAL_CONTROL: z.stringbool().default(false),
    CONSOLE: z.enum(['on', 'off']).default('off'),

    PROVIDER_OUTAGE_SECONDS: z.coerce.number().int().min(0).max(MONTH_SECONDS).default(DAY_SECONDS),
    WORKER_QUEUES: allOrSome(queueGroups).prefault('all'),
    WORKER_CONCURRENCY: count.default(64),

    ACTION_EXPIRES_SECONDS: z.coerce.number().int().min(1).max(WEEK_SECONDS).default(3_600),

    WAIT_SECONDS: z.coerce.number().min(0).max(CONSTANTS.WAIT_MAX_SECONDS).default(5),
    IDEMPOTENCY_FLAVOR: z.enum(['ietf', 'stripe', 'acp']).default('ietf'),
    IDEMPOTENCY_MEMBER: z.enum(['preferred', 'always']).default('preferred'),
    EXPIRED_KEYS: z.enum(['new', 'gone']).default('new'),
    ...retentionSettings,
    CARD_NUMBER_CHECK: z.enum(['everywhere', 'payment_fields']).default('everywhere'),
    SHUTDOWN_TIMEOUT_MS: milliseconds.default(15_000),
    DRAIN_DELAY_MS: z.coerce.number().int().min(0).max(300_000).default(500),

    TRUST_PROXY: trustedProxies.optional(),
    HTTP_KEEP_ALIVE_SECONDS: z.coerce.number().int().min(1).max(3_600).default(75),
    MAX_CONCURRENT_REQUESTS: limit.min(1).default(500),
    MAX_ACTIVE_KEYS: limit.default(1_000),
    MAX_STORED_KEYS: z.coerce.number().int().min(0).max(STORED_KEYS_MAX).default(1_000_000),
    KEY_LENGTH_MIN: z.coerce.number().int().min(1).max(KEY_LENGTH_MIN_MAX).default(1),
    RATE_LIMIT_WRITES: limit.default(6_000),
    RATE_LIMIT_READS: limit.default(60_000),
    REQUEST_MAX_AGE_SECONDS: z.coerce.number().int().min(1).max(86_400).optional(),
    ...answerSettings,
    DNS_SERVERS: nameServers.optional(),

    WEBHOOK_CONCURRENCY: count.default(16),
    WEBHOOK_ALLOW_INSECURE: z.stringbool().default(false),

    OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
    ...otelVariables,
  })
  .refine((env) => !env.ADMIN_DUAL_CONTROL || countOperators(env.ADMIN_API_KEY) >= 2, {
    path: ['ADMIN_DUAL_CONTROL'],
    error: 'needs at least two operators with names in ADMIN_API_KEY, besides viewers',
  })
  .refine((env) => env.CONSOLE === 'off' || env.ADMIN_API_KEY !== undefined, {
    path: ['CONSOLE'],
    error: 'needs ADMIN_API_KEY: operators log in with their keys',
  })
  .superRefine(requireAllKeys)
  .refine(coversKeys, needsCover)
  .refine((env) => env.DRAIN_DELAY_MS < env.SHUTDOWN_TIMEOUT_MS, {
    path: ['DRAIN_DELAY_MS'],
    error: 'must be less than SHUTDOWN_TIMEOUT_MS, which includes it',
  })

export type Config = z.infer<typeof environmentSchema> & Constants

/** The schema of each variable, for the generated page of settings. */
export const configShape = environmentSchema.shape

/** The settings of the providers. */
export const providerVariables = Object.keys(providerSettings)

/** Every setting, for the tests of the pages and files that name them. */
export const configVariables = Object.keys(environmentSchema.shape).filter(
  (name) => !(name in otelVariables),
)

/**
 * Reads the settings from an environment (by default this process's own). A blank variable counts
 * as unset, because `docker compose` passes variables without a value as blank.
 *
 * @throws ConfigError that names each wrong variable, but never its value, which may be a secret.
 */
export function readConfig(
  environment: NodeJS.ProcessEnv = process.env,
  beneath: Readonly<Record<string, string>> = {},
): Config {
  const set = Object.entries(environment).filter(([, value]) => value?.trim() !== '')
  const result = environmentSchema.safeParse({ ...beneath, ...Object.fromEntries(set) })
  if (result.success)
    return withConstants(result.data, isTest() ? readConstants(environment) : CONSTANTS)
  const errors = result.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`)
  throw new ConfigError(`Wrong settings in the environment:\n${errors.join('\n')}`)
}

const isTest = () => process.env['TEST_CONSTANTS'] === 'true'

/** A lease outlasts a call and its record, however long a call may take. */
const withConstants = (
  settings: z.infer<typeof environmentSchema>,
  constants: Constants,
): Config => ({
  ...settings,
  ...constants,
  LEASE_MS: Math.max(constants.LEASE_MS, 2 * settings.PROVIDER_TIMEOUT_MS),
})
