"""What Prometheus is told. Each app counts for itself."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "epireader_requests", "Requests answered.", ["method", "path", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "epireader_request_seconds", "Time to answer.", ["path"], buckets=_SECONDS, registry=self.registry
        )
        self.at_hand = Gauge("epireader_requests_at_hand", "Requests begun and not finished.", registry=self.registry)
        self.waiting = Gauge("epireader_queue", "Requests in the queue.", registry=self.registry)
        self.batch = Histogram(
            "epireader_batch_requests", "Requests in a batch.", buckets=_SIZES, registry=self.registry
        )
        self.questions = Counter("epireader_questions", "Questions answered.", registry=self.registry)
        self.passages = Counter(
            "epireader_passages", "Passages needed, and whether they had been read.", ["cache"], registry=self.registry
        )
        self.kept = Gauge("epireader_cache_words", "Size of the passages that are kept.", registry=self.registry)

    def page(self) -> bytes:
        return generate_latest(self.registry)
