// Reads and checks every setting of every process. No other file reads the environment. A wrong
// value stops the process at start, with a message that names the variable.
import { z } from 'zod'
import {
  allOrSome,
  besideStandIn,
  countOperators,
  delaysSeconds,
  encryptionKeys,
  isBesideStandIn,
  launcherUrl,
  nameServers,
  operatorKeys,
  trustedProxies,
} from './config-formats.ts'
import { answerSettings, encryptsAnswers, needsEncryption } from './answer-settings.ts'
import { KEY_LENGTH_MIN_MAX, LIMIT_MAX, STORED_KEYS_MAX } from './domain/tenants/tenant-limits.ts'
import { areKeysComplete, needsAllKeys, providerSettings } from './provider-settings.ts'
import { coversKeys, needsCover, retentionSettings } from './retention-settings.ts'

const port = z.coerce.number().int().min(0).max(65_535)
const milliseconds = z.coerce.number().int().min(1).max(3_600_000)
const count = z.coerce.number().int().min(1).max(1_000)

/** 0 means no limit, where it is allowed. */
const limit = z.coerce.number().int().min(0).max(LIMIT_MAX)
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' })

/**
 * Stripe keeps idempotency keys for at least 24 h. One hour is left for clock differences and long
 * calls. 0 says that the provider keeps none.
 */
const PROVIDER_KEY_WINDOW_SECONDS = 23 * 60 * 60

const DAY_SECONDS = 24 * 60 * 60
const WEEK_SECONDS = 7 * DAY_SECONDS
const MONTH_SECONDS = 30 * DAY_SECONDS

/** Roles belong to a cluster: two databases with two owners need two names. */
export const SERVICE_ROLE = 'atomic_payments_service'

/** The groups of queues that a worker works on: `workers/jobs.ts` has the queues of each. */
export const queueGroups = ['payments', 'webhooks', 'maintenance'] as const
export type QueueGroup = (typeof queueGroups)[number]

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
    DATABASE_POOL_SIZE: count.default(4),
    ENCRYPTION_KEYS: encryptionKeys.optional(),
    STORE_TIMEOUT_MS: milliseconds.default(5_000),

    ...providerSettings,
    MOCK_WEBHOOK_URL: httpUrl.optional(),
    PROVIDER_TIMEOUT_MS: milliseconds.default(8_000),
    PROVIDER_READS_PER_SECOND: limit.default(10),
    PROVIDER_KEY_WINDOW_SECONDS: z.coerce
      .number()
      .int()
      .min(0)
      .max(DAY_SECONDS, 'must be at most 86400 (24 h): Stripe guarantees its keys no longer')
      .default(PROVIDER_KEY_WINDOW_SECONDS),
    DEMO_API_KEY: z
      .string()
      .regex(/^sk_[A-Za-z0-9_]{9,200}$/, 'must be sk_ followed by 9 to 200 letters, digits or _')
      .optional(),
    ADMIN_API_KEY: operatorKeys.optional(),
    ADMIN_DUAL_CONTROL: z.stringbool().default(false),
    CONSOLE: z.enum(['on', 'off']).default('off'),
    CONSOLE_IDLE_SECONDS: z.coerce.number().int().min(60).max(43_200).default(1_800),
    CONSOLE_LAUNCHER_URL: launcherUrl.optional(),
    DASHBOARD_PORT: port.default(3200),

    LEASE_MS: milliseconds.min(100).default(20_000),
    CALL_ATTEMPTS: count.default(3),
    CALL_RETRY_DELAY_MS: milliseconds.default(200),
    JOB_RETRY_LIMIT: z.coerce.number().int().min(0).max(1_000).default(10),
    PROVIDER_OUTAGE_SECONDS: z.coerce.number().int().min(0).max(MONTH_SECONDS).default(DAY_SECONDS),
    JOB_RETRY_DELAY_SECONDS: z.coerce.number().int().min(1).max(3_600).default(1),
    JOB_RETRY_DELAY_MAX_SECONDS: z.coerce.number().int().min(1).max(86_400).default(60),
    WORKER_QUEUES: allOrSome(queueGroups).prefault('all'),
    WORKER_CONCURRENCY: count.default(64),

    SWEEP_INTERVAL_MS: milliseconds.default(5_000),
    CHECK_INTERVAL_MS: milliseconds.default(1_000),
    CHECK_DELAYS_SECONDS: delaysSeconds.prefault('5,90,600,3600,86400'),
    CHECK_ON_READ_SECONDS: z.coerce.number().min(0).max(86_400).default(10),
    PROVIDER_SETTLE_SECONDS: z.coerce.number().min(0).max(86_400).default(90),
    ACTION_EXPIRES_SECONDS: z.coerce.number().int().min(1).max(WEEK_SECONDS).default(3_600),
    AUTHORIZATION_NOTICE_SECONDS: z.coerce
      .number()
      .int()
      .min(0)
      .max(MONTH_SECONDS)
      .default(DAY_SECONDS),

    WAIT_SECONDS: z.coerce.number().min(0).max(60).default(5),
    WAIT_MAX_SECONDS: z.coerce.number().min(0).max(300).default(30),
    IDEMPOTENCY_FLAVOR: z.enum(['ietf', 'stripe', 'acp']).default('ietf'),
    IDEMPOTENCY_MEMBER: z.enum(['preferred', 'always']).default('preferred'),
    EXPIRED_KEYS: z.enum(['new', 'gone']).default('new'),
    ...retentionSettings,
    REAP_INTERVAL_MS: milliseconds.default(10_000),
    REAP_BATCH_SIZE: z.coerce.number().int().min(1).max(10_000).default(250),
    CARD_NUMBER_CHECK: z.enum(['everywhere', 'payment_fields']).default('everywhere'),
    SHUTDOWN_TIMEOUT_MS: milliseconds.default(15_000),
    DRAIN_DELAY_MS: z.coerce.number().int().min(0).max(300_000).default(500),

    TRUST_PROXY: trustedProxies.optional(),
    MAX_CONNECTIONS: limit.min(1).default(10_000),
    MAX_CONCURRENT_REQUESTS: limit.min(1).default(500),
    MAX_WAITING_REQUESTS: limit.default(5_000),
    MAX_ACTIVE_KEYS: limit.default(1_000),
    MAX_STORED_KEYS: z.coerce.number().int().min(0).max(STORED_KEYS_MAX).default(1_000_000),
    KEY_LENGTH_MIN: z.coerce.number().int().min(1).max(KEY_LENGTH_MIN_MAX).default(1),
    RATE_LIMIT_WRITES: limit.default(6_000),
    RATE_LIMIT_READS: limit.default(60_000),
    RATE_LIMIT_INVALID_KEYS: limit.default(60),
    RATE_LIMIT_WINDOW_SECONDS: z.coerce.number().int().min(1).max(3_600).default(60),
    REQUEST_MAX_AGE_SECONDS: z.coerce.number().int().min(1).max(86_400).optional(),
    API_KEY_CACHE_SECONDS: z.coerce.number().min(0).max(60).default(5),
    ...answerSettings,
    STORE_BREAKER_FAILURES: limit.default(10),
    PROVIDER_BREAKER_FAILURES: limit.default(20),
    BREAKER_OPEN_MS: milliseconds.default(1_000),
    DNS_SERVERS: nameServers.optional(),
    DNS_TIMEOUT_MS: milliseconds.default(2_000),

    WEBHOOK_TIMEOUT_MS: milliseconds.default(10_000),
    WEBHOOK_CONCURRENCY: count.default(16),
    // 5 days.
    WEBHOOK_DISABLE_AFTER_SECONDS: z.coerce.number().int().min(60).default(432_000),
    WEBHOOK_ALLOW_INSECURE: z.stringbool().default(false),

    // OpenTelemetry's own variables. Its SDK reads these and all others by itself.
    OTEL_SDK_DISABLED: z.string().optional(),
    OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl.optional(),
    OTEL_TRACES_EXPORTER: z.string().optional(),
    OTEL_SERVICE_NAME: z.string().optional(),
    OTEL_RESOURCE_ATTRIBUTES: z.string().optional(),
  })
  .refine((env) => env.LEASE_MS >= 2 * env.PROVIDER_TIMEOUT_MS, {
    path: ['LEASE_MS'],
    error:
      'must be at least twice PROVIDER_TIMEOUT_MS, so that a lease outlasts a call and its record',
  })
  .refine((env) => !env.ADMIN_DUAL_CONTROL || countOperators(env.ADMIN_API_KEY) >= 2, {
    path: ['ADMIN_DUAL_CONTROL'],
    error: 'needs at least two operators with names in ADMIN_API_KEY, besides viewers',
  })
  .refine((env) => env.CONSOLE === 'off' || env.ADMIN_API_KEY !== undefined, {
    path: ['CONSOLE'],
    error: 'needs ADMIN_API_KEY: operators log in with their keys',
  })
  .refine(isBesideStandIn, besideStandIn)
  .refine(areKeysComplete, needsAllKeys)
  .refine(encryptsAnswers, needsEncryption)
  .refine((env) => env.JOB_RETRY_DELAY_SECONDS <= env.JOB_RETRY_DELAY_MAX_SECONDS, {
    path: ['JOB_RETRY_DELAY_SECONDS'],
    error: 'must not exceed JOB_RETRY_DELAY_MAX_SECONDS',
  })
  .refine(coversKeys, needsCover)
  .refine((env) => env.DRAIN_DELAY_MS < env.SHUTDOWN_TIMEOUT_MS, {
    path: ['DRAIN_DELAY_MS'],
    error: 'must be less than SHUTDOWN_TIMEOUT_MS, which includes it',
  })
  .refine((env) => env.WAIT_SECONDS <= env.WAIT_MAX_SECONDS, {
    path: ['WAIT_SECONDS'],
    error: 'must not exceed WAIT_MAX_SECONDS',
  })

export type Config = z.infer<typeof environmentSchema>

/** The schema of each variable, for the generated page of settings. */
export const configShape = environmentSchema.shape

/** Every variable that `readConfig` knows, for the test that compares `.env.example` with it. */
export const configVariables = Object.keys(environmentSchema.shape)

export class ConfigError extends Error {
  override name = 'ConfigError'
}

/**
 * Reads the settings from an environment (by default this process's own). A blank variable counts
 * as unset, because `docker compose` passes variables without a value as blank.
 *
 * @throws ConfigError that names each wrong variable, but never its value, which may be a secret.
 */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): Config {
  const set = Object.entries(environment).filter(([, value]) => value?.trim() !== '')
  const result = environmentSchema.safeParse(Object.fromEntries(set))
  if (result.success) return result.data
  const errors = result.error.issues.map((issue) => `  ${issue.path.join('.')}: ${issue.message}`)
  throw new ConfigError(`Wrong settings in the environment:\n${errors.join('\n')}`)
}
