#include "validator/executor/parallel/singular_vectors.h"

#include <Eigen/Core>
#include <Eigen/SVD>

namespace hexaplan::validator {

std::vector<double> leading_singular_vectors(std::span<const double> matrix, std::int64_t rows,
                                             std::int64_t cols, std::int64_t count) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const RowMajor> given{matrix.data(), rows, cols};
  const Eigen::MatrixXd tall = rows >= cols ? Eigen::MatrixXd{given} : Eigen::MatrixXd{given.transpose()};
  const Eigen::BDCSVD<Eigen::MatrixXd> svd{tall, Eigen::ComputeThinV};
  std::vector<double> out;
  for (Eigen::Index i = 0; i < count; ++i) {
    const Eigen::VectorXd vector = svd.matrixV().col(i);
    Eigen::Index largest = 0;
    vector.cwiseAbs().maxCoeff(&largest);
    const double sign = vector[largest] < 0 ? -1 : 1;
    for (const double x : vector) out.push_back(sign * x);
  }
  return out;
}

}  // namespace hexaplan::validator
